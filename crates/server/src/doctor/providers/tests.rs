//! Accounts that accept the credential, that do not, and that are paused.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::doctor::{DoctorReport, FindingState, render_text};
use crate::providers::tests::accounts;

const LIST: &str = r#"{"data":[{"id":"qwen"}]}"#;

fn moment() -> Timestamp {
    Timestamp::from_timestamp_micros(1_767_225_600_000_000).unwrap()
}

fn rendered(found: DependencyFindings) -> String {
    let ok = found.list.iter().all(|it| it.state != FindingState::Wrong);
    let findings = found.list;
    render_text(&DoctorReport { ok, findings })
}

fn account(kind: &str, base: &str) -> ProviderAccount {
    let text = format!(
        "[[provider]]\nname = \"p\"\nkind = \"{kind}\"\nbase_url = \"{base}\"\n\
         credential_env = \"OPENAI_API_KEY\"\nshards = {{ north = 1 }}\n"
    );
    accounts(&text).find("p").unwrap().clone()
}

/// A provider that gives the same answer to every request; returns its URL without a path.
async fn provider(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4_096];
            let _read = stream.read(&mut request).await;
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _written = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn an_account_that_accepts_the_credential_is_ok() {
    let base = provider("200 OK", LIST).await;
    let models = query_account(&account("server", &format!("{base}/v1")), moment()).await;
    assert_eq!(models, Ok(Some(BTreeSet::from(["qwen".to_owned()]))));
    let base = provider("200 OK", r#"{"data":[],"has_more":false}"#).await;
    // The list of Azure has models, and routes name deployments.
    let azure = account("azure", &format!("{base}/openai/v1"));
    assert_eq!(query_account(&azure, moment()).await, Ok(None));
    assert_eq!(
        query_account(&account("anthropic", &base), moment()).await,
        Ok(None)
    );
    let base = provider("200 OK", "{}").await;
    assert_eq!(
        query_account(&account("gemini", &base), moment()).await,
        Ok(None)
    );
}

#[tokio::test]
async fn an_account_that_fails_is_an_error_with_a_fix() {
    let refusal =
        r#"{"error":{"message":"bad key sk-secret-0123456789","code":"invalid_api_key"}}"#;
    let mut found = DependencyFindings::new("provider p");
    for (status, body) in [
        ("401 Unauthorized", refusal),
        ("402 Payment Required", ""),
        ("404 Not Found", ""),
        ("503 Service Unavailable", ""),
    ] {
        let base = provider(status, body).await;
        let answer = query_account(&account("openai", &format!("{base}/v1")), moment()).await;
        let shown = account("openai", "http://openai.internal/v1");
        report_answer(&mut found, &shown, &answer, None);
    }
    insta::assert_snapshot!(rendered(found), @r"
    provider p
      ERROR   reachable           http://openai.internal/v1: the provider rejected the credential
              fix: put a valid credential into the variable OPENAI_API_KEY and restart `longshored work`
              see docs/runbooks/provider-outage.md
      ERROR   reachable           http://openai.internal/v1: provider account is out of credit (billing limit reached)
              fix: pay the provider, then run `longshored admin provider resume p`
              see docs/runbooks/provider-outage.md
      ERROR   reachable           http://openai.internal/v1: not found at the provider
              fix: correct base_url and kind in SVC_PROVIDERS_FILE
              see docs/runbooks/provider-outage.md
      ERROR   reachable           http://openai.internal/v1: provider unavailable: status 503
              fix: check that the provider is up and that the network reaches it; until then its cargo waits, or takes another route
              see docs/runbooks/provider-outage.md

    errors: 4
    ");
}

#[test]
fn models_that_it_does_not_list_are_named() {
    let shown = account("server", "http://gpu.internal:8000/v1");
    let catalogue = |upstream: &str| {
        let mut model = domain::model::Model::plain("demo", "p", domain::model::ModelKind::Chat);
        let via = domain::route::InferenceMode::Realtime;
        let route = domain::route::Route::plain("p", upstream, via);
        model.routes = domain::route::Routes::from(route);
        Catalogue::new([model])
    };
    let mut found = DependencyFindings::new("provider p");
    report_credential(&mut found, &shown);
    let listed = Ok(Some(BTreeSet::from(["qwen".to_owned()])));
    report_answer(&mut found, &shown, &listed, Some(&catalogue("qwen")));
    report_answer(&mut found, &shown, &listed, Some(&catalogue("llama")));
    insta::assert_snapshot!(rendered(found), @r"
    provider p
      ok      credential          read from the variable OPENAI_API_KEY
      ok      reachable           http://gpu.internal:8000/v1 answers and accepts the credential
      ok      models              all models of the catalogue are offered: 1
      ok      reachable           http://gpu.internal:8000/v1 answers and accepts the credential
      warning models              does not list llama
              fix: correct upstream in SVC_MODELS_FILE, or load the model on the server

    no errors; warnings: 1
    ");
}

#[test]
fn a_paused_account_is_a_warning() {
    let status = |paused_at| ProviderStatus {
        name: "p".to_owned(),
        paused_at,
        reason: Some("the provider rejected the credential".to_owned()),
        retry_at: None,
        open_jobs: 0,
        enqueued_tokens: 0,
        max_enqueued_tokens: None,
        submitting: None,
    };
    let account = account("server", "http://gpu.internal:8000/v1");
    let mut found = DependencyFindings::new("provider p");
    for listed in [
        Some(vec![status(Some(moment()))]),
        Some(vec![status(None)]),
        Some(Vec::new()),
        None,
    ] {
        // The account has no share of the shard south, which does not answer.
        let statuses = vec![("north".to_owned(), listed), ("south".to_owned(), None)];
        check_paused(&mut found, &account, &statuses);
    }
    insta::assert_snapshot!(rendered(found), @r"
    provider p
      warning paused              on shard north since 2026-01-01T00:00:00.000000Z: the provider rejected the credential
              fix: remove the cause, then run `longshored admin provider resume p`
              see docs/runbooks/paused-account.md
      ok      paused              no
      ok      paused              no
      warning paused              unknown on shard north, which did not answer
              fix: see the errors of that shard
              see docs/runbooks/paused-account.md

    no errors; warnings: 2
    ");
}
