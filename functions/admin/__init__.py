"""What operators and tenants' administrators ask and do, under a role of its own."""
