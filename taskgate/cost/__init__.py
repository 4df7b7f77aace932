"""The cost model: measured flows × what was asked for × prices (`taskgate cost`)."""
