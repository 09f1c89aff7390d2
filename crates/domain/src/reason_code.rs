//! Reason codes: why a cargo waits or has failed, in words for programs.
//!
//! A code never changes its name or its meaning; the text beside it may change. New cases get new
//! codes. `/docs` lists them all from here.

/// Codes, each with the word in JSON and rows and with its description.
macro_rules! reason_codes {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal $description:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($variant,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub const fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }
        }
    )*};
}

reason_codes! {
    /// What a cargo waits for. The description is the `reason` in tracking.
    WaitingCode {
        WaitingForBatch "waiting_for_batch" "waiting to be gathered into a batch",
        Requeued "requeued"
            "its batch ended without an answer; waiting to be gathered into another batch",
        RetryBackoff "retry_backoff" "the provider failed to answer; retrying after backoff",
        PausedByOperator "paused_by_operator" "paused by the operator",
        ProviderPaused "provider_paused" "the provider is paused",
        WaitingForSubmission "waiting_for_submission" "its batch is waiting to be submitted",
        Submitting "submitting" "its batch is being submitted to the provider",
        AccountFull "account_full"
            "the provider account is full; its batch is submitted when there is room",
        ProviderUnavailable "provider_unavailable"
            "the provider accepts no batches right now; retrying soon",
        BatchNotAssembled "batch_not_assembled"
            "its batch cannot be assembled right now; retrying soon",
        SubmissionUnconfirmed "submission_unconfirmed"
            "checking whether the provider received its batch",
        ProviderProcessing "provider_processing" "the provider is working on its batch",
        ProviderSlow "provider_slow" "the provider is working on its batch, longer than usual",
        StoringResults "storing_results" "the results of its batch are being fetched and stored",
        BatchCancelling "batch_cancelling"
            "its batch took too long and is being cancelled; it is then sent by another route",
        ServerProcessing "server_processing" "the model's server is working on it",
        ServerUnavailable "server_unavailable"
            "the model's server does not answer right now; retrying soon",
        FlexProcessing "flex_processing" "the provider is working on it at the flex tier",
        FlexCapacity "flex_capacity"
            "the provider has no spare capacity for the flex tier right now; retrying soon",
    }

    /// Why a cargo failed. The description says what happened and what to do next.
    FailureCode {
        RequestRejected "request_rejected"
            "The provider rejected the request, and `error` is its message. Change the request.",
        UnsupportedRequest "unsupported_request"
            "The model's provider cannot run such a request, for example with this kind of file or role. Change the request, or choose another model.",
        RequestTooLarge "request_too_large"
            "The request is larger than the model's provider accepts. Load a smaller one.",
        FileMissing "file_missing"
            "A referenced file was deleted before the request was sent. Upload the file again, and load with its new id.",
        ContentBlocked "content_blocked"
            "The provider's content filter stopped the model before it answered. Change the request.",
        UnsupportedStop "unsupported_stop"
            "The model stopped to use a feature that Longshore does not support, such as a tool. Change the request.",
        AttemptsExhausted "attempts_exhausted"
            "The provider did not answer the request in any of its attempts, and `error` ends with the last reason. Load it again later, or choose another model.",
        BatchRejected "batch_rejected"
            "The provider rejected each batch with this cargo, and `error` is its message. Load it again, or choose another model.",
        DeadlineExceeded "deadline_exceeded"
            "No provider had the cargo at its deadline, which is 24 hours after its load unless the load sets an earlier one. Load it again, or choose another model.",
        ModelUnavailable "model_unavailable"
            "The model is no longer served. Load again with another model.",
        ProcessingInterrupted "processing_interrupted"
            "Workers stopped too often while they processed the cargo. Load it again. If it fails again, tell the operator its cargo_id.",
        RequestUnreadable "request_unreadable"
            "The stored request cannot be read. Load it again.",
        ResultNotStored "result_not_stored"
            "The result could not be stored. Load it again. If it fails again, tell the operator its cargo_id.",
        Cancelled "cancelled"
            "The caller cancelled the cargo before a provider had it. It costs nothing.",
    }
}

/// Why a cargo failed: a code for programs and a message for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CargoFailure {
    pub code: FailureCode,
    pub message: String,
}

impl FailureCode {
    pub fn with_message(self, message: impl Into<String>) -> CargoFailure {
        CargoFailure {
            code: self,
            message: message.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program may compare with any of these: add to the list, and change nothing in it.
    #[test]
    fn codes_never_change() {
        let waiting: Vec<_> = WaitingCode::ALL.iter().map(|it| it.as_str()).collect();
        insta::assert_snapshot!(waiting.join("\n"), @"
        waiting_for_batch
        requeued
        retry_backoff
        paused_by_operator
        provider_paused
        waiting_for_submission
        submitting
        account_full
        provider_unavailable
        batch_not_assembled
        submission_unconfirmed
        provider_processing
        provider_slow
        storing_results
        batch_cancelling
        server_processing
        server_unavailable
        flex_processing
        flex_capacity
        ");
        let failures: Vec<_> = FailureCode::ALL.iter().map(|it| it.as_str()).collect();
        insta::assert_snapshot!(failures.join("\n"), @"
        request_rejected
        unsupported_request
        request_too_large
        file_missing
        content_blocked
        unsupported_stop
        attempts_exhausted
        batch_rejected
        deadline_exceeded
        model_unavailable
        processing_interrupted
        request_unreadable
        result_not_stored
        cancelled
        ");
    }

    #[test]
    fn a_code_is_one_word_and_unique() {
        let waiting = WaitingCode::ALL.iter().map(|it| it.as_str());
        let failures = FailureCode::ALL.iter().map(|it| it.as_str());
        let mut codes: Vec<_> = waiting.chain(failures).collect();
        let is_plain = |code: &&str| code.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        assert!(codes.iter().all(is_plain), "{codes:?}");
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
