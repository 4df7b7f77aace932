"""The bytes: results under ``r/``, uploaded inputs under ``in/``, dead letters under ``dead/``."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk_app import cors
from cdk_app.findings import acknowledge
from taskgate.settings import Stage

RESULTS = "r/"
UPLOADS = "in/"
DEAD_LETTERS = "dead/"

KEYS_OF_RESULTS = "a key holds tenant, task and attempt, which only run time knows"
KEYS_OF_UPLOADS = "a key holds tenant and upload, which only run time knows"
KEYS_OF_DEAD_LETTERS = "a key holds day and message, which only run time knows"


class ResultsBucket(Construct):
    """The results bucket. Unversioned: every key is unique and written once."""

    def __init__(self, scope: Construct, name: str, *, stage: Stage) -> None:
        super().__init__(scope, name)
        self._name = f"{stage.prefix}-results-{cdk.Aws.ACCOUNT_ID}-{cdk.Aws.REGION}"
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            bucket_name=self._name,
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
            cors=cors.of_bucket(stage.edge.origins),
            removal_policy=(
                cdk.RemovalPolicy.RETAIN if stage.retain_data else cdk.RemovalPolicy.DESTROY
            ),
        )
        acknowledge(
            self.bucket,
            {
                "AwsSolutions-S1": (
                    "reads go by links that the API signs and logs; CloudTrail's data events are "
                    "there for who wants each of them on record"
                )
            },
        )

    @property
    def results_arn(self) -> str:
        """The ARN pattern of the results."""
        return self._objects(RESULTS)

    @property
    def uploads_arn(self) -> str:
        """The ARN pattern of the uploaded inputs."""
        return self._objects(UPLOADS)

    @property
    def dead_letters_arn(self) -> str:
        """The ARN pattern of the kept dead letters."""
        return self._objects(DEAD_LETTERS)

    def _objects(self, prefix: str) -> str:
        # By its name, which is ours: another stack's reference would be to an export with a hash,
        # and no finding on it could be acknowledged by its id.
        return f"arn:{cdk.Aws.PARTITION}:s3:::{self._name}/{prefix}*"


def _expiry(name: str, prefix: str, days: int) -> s3.LifecycleRule:
    return s3.LifecycleRule(id=name, prefix=prefix, expiration=cdk.Duration.days(days))
