"""The bytes: results under ``r/``, uploaded inputs under ``in/``, dead letters under ``dead/``."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from taskgate.settings import Stage

RESULTS = "r/"
UPLOADS = "in/"
DEAD_LETTERS = "dead/"


class ResultsBucket(Construct):
    """The results bucket. Unversioned: every key is unique and written once."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            bucket_name=f"{stage.prefix}-results-{cdk.Aws.ACCOUNT_ID}-{cdk.Aws.REGION}",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=not stage.emulator,
            lifecycle_rules=[
                _expiry("results", RESULTS, stage.result_days),
                _expiry("uploads", UPLOADS, stage.upload_days),
                _expiry("dead-letters", DEAD_LETTERS, stage.dead_letter_days),
                s3.LifecycleRule(
                    id="unfinished-uploads",
                    abort_incomplete_multipart_upload_after=cdk.Duration.days(1),
                ),
            ],
            removal_policy=(
                cdk.RemovalPolicy.RETAIN if stage.retain_data else cdk.RemovalPolicy.DESTROY
            ),
        )

    @property
    def results_arn(self) -> str:
        """The ARN pattern of the results."""
        return self.bucket.arn_for_objects(f"{RESULTS}*")

    @property
    def dead_letters_arn(self) -> str:
        """The ARN pattern of the kept dead letters."""
        return self.bucket.arn_for_objects(f"{DEAD_LETTERS}*")


def _expiry(name: str, prefix: str, days: int) -> s3.LifecycleRule:
    return s3.LifecycleRule(id=name, prefix=prefix, expiration=cdk.Duration.days(days))
