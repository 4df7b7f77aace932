"""The ports on AWS: DynamoDB, SQS and S3 by boto3."""
