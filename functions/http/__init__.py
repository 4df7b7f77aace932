"""HTTP as every room that answers people speaks it: what was asked, answers, problems, schemas' parts."""
