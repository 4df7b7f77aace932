"""The authorizer: from an API key to a principal."""
