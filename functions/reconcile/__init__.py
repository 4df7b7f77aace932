"""The reconcile room: proves each hour that every task is accounted for."""
