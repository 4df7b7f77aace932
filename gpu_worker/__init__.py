"""The worker: a supervisor that keeps the promises, and one child process that holds the models.

Runner authors need `gpu_worker.runner` and `gpu_worker.context` only.
"""
