"""The verbs, over ports. A room calls these; nothing in here knows HTTP, SQS or DynamoDB."""
