//! What results look like, and what is believed of them.

use simulator::{Fault, FaultName, Provider};

use super::play::Scene;

#[tokio::test]
async fn lines_are_shuffled() {
    let scene = Scene::once(FaultName::Shuffle);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_line_is_there_twice() {
    let scene = Scene::once(FaultName::DuplicateLines);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_line_is_missing() {
    let scene = Scene::once(FaultName::MissingLines);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_result_is_of_an_item_that_nobody_sent() {
    let scene = Scene::once(FaultName::UnknownLines);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn blank_lines_stand_between() {
    let scene = Scene::once(FaultName::BlankLines);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_results_are_cut_off() {
    let scene = Scene::once(FaultName::TruncateDownload);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn the_results_are_gone_once() {
    let scene = Scene::once(FaultName::ResultsGone);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn usage_is_missing() {
    let scene = Scene::once(FaultName::UsageMissing);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 3600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 3600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 4000
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn usage_is_absurd() {
    let scene = Scene::once(FaultName::UsageAbsurd);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 3600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 3600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 4000
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn a_filter_leaves_no_text() {
    let scene = Scene::once(FaultName::SafetyBlock);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai:
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: content_filter | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: content_filter | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: content_filter | charged 0
    3 callbacks, 1 jobs, 0.00 held

    anthropic:
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: refusal | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: refusal | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: refusal | charged 0
    3 callbacks, 1 jobs, 0.00 held

    gemini:
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: SAFETY | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: SAFETY | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | blocked by provider: SAFETY | charged 0
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn all_results_are_missing_once() {
    let scene = Scene::of([Fault::once(FaultName::MissingLines).limit(3)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    PENDING1 PROCESSING1 PENDING2 PROCESSING2 callback_delivered2 | its own answer | charged 1500
    3 callbacks, 2 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn downloads_fail() {
    let scene = Scene::of([Fault::of(FaultName::Download500).times(3)]);
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn items_have_lines_of_their_own_kind() {
    let scene = Scene::saying(&[
        "[[missing]] one",
        "[[twice]] two",
        "[[no-usage]] three",
        "[[absurd-usage]] four",
    ])
    .for_long();
    insta::assert_snapshot!(scene.everywhere().await, @"
    openai, anthropic, gemini:
    PENDING1 PROCESSING1 PENDING2 ... PENDING13 callback_delivered13 | the deadline of 24 hours has passed | charged 0
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 4600
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 5100
    4 callbacks, 12 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn gemini_answers_in_its_other_shapes() {
    let scene = Scene {
        texts: vec!["one", "[[fail 400]] two"],
        ..Scene::of([
            Fault::of(FaultName::InlineAnswer),
            Fault::of(FaultName::StatusInsteadOfError),
        ])
    };
    insta::assert_snapshot!(scene.with(&[Provider::Gemini]).await, @"
    gemini:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 900
    PENDING1 PROCESSING1 callback_delivered1 | simulated failure 400 | charged 0
    2 callbacks, 1 jobs, 0.00 held
    ");
}

#[tokio::test]
async fn openai_names_its_file_of_errors_with_nothing() {
    let scene = Scene::once(FaultName::EmptyErrorFileId);
    insta::assert_snapshot!(scene.with(&[Provider::OpenAi]).await, @"
    openai:
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    PENDING1 PROCESSING1 callback_delivered1 | its own answer | charged 1500
    3 callbacks, 1 jobs, 0.00 held
    ");
}
