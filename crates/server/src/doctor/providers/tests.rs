//! Accounts that let us in, that do not, and that are paused.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::doctor::{Report, State, text};
use crate::providers::tests::accounts;

const LIST: &str = r#"{"data":[{"id":"qwen"}]}"#;

fn moment() -> Timestamp {
    Timestamp::from_timestamp_micros(1_767_225_600_000_000).unwrap()
}

fn told(found: Findings) -> String {
    let ok = found.list.iter().all(|it| it.state != State::Wrong);
    let findings = found.list;
    text(&Report { ok, findings })
}

fn account(kind: &str, base: &str) -> Account {
    let text = format!(
        "[[provider]]\nname = \"p\"\nkind = \"{kind}\"\nbase_url = \"{base}\"\n\
         credential_env = \"OPENAI_API_KEY\"\nshards = {{ north = 1 }}\n"
    );
    accounts(&text).find("p").unwrap().clone()
}

/// Answers every question in the same words; its address, without a path.
async fn provider(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4_096];
            let _read = stream.read(&mut asked).await;
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
async fn who_lets_us_in_is_well() {
    let base = provider("200 OK", LIST).await;
    let models = ask(&account("server", &format!("{base}/v1")), moment()).await;
    assert_eq!(models, Ok(Some(BTreeSet::from(["qwen".to_owned()]))));
    let base = provider("200 OK", r#"{"data":[],"has_more":false}"#).await;
    assert_eq!(ask(&account("anthropic", &base), moment()).await, Ok(None));
    let base = provider("200 OK", "{}").await;
    assert_eq!(ask(&account("gemini", &base), moment()).await, Ok(None));
}

#[tokio::test]
async fn who_does_not_is_wrong_and_says_how_to_mend_it() {
    let no = r#"{"error":{"message":"bad key sk-secret-0123456789","code":"invalid_api_key"}}"#;
    let mut found = Findings::of("provider p");
    for (status, body) in [
        ("401 Unauthorized", no),
        ("402 Payment Required", ""),
        ("404 Not Found", ""),
        ("503 Service Unavailable", ""),
    ] {
        let base = provider(status, body).await;
        let answer = ask(&account("openai", &format!("{base}/v1")), moment()).await;
        let shown = account("openai", "http://openai.internal/v1");
        judge(&mut found, &shown, &answer, None);
    }
    insta::assert_snapshot!(told(found), @r"
    provider p
      WRONG   reachable           http://openai.internal/v1: the credential is not accepted
              to mend it: put a credential that is good into the variable OPENAI_API_KEY, restart longshored work
      WRONG   reachable           http://openai.internal/v1: the account cannot pay
              to mend it: pay the provider, then: longshored admin provider resume p
      WRONG   reachable           http://openai.internal/v1: not there
              to mend it: correct base_url and kind in SVC_PROVIDERS_FILE
      WRONG   reachable           http://openai.internal/v1: unavailable: status 503
              to mend it: look whether it is up, and at the network between here and there; until then its cargo waits, or takes another route

    4 wrong
    ");
}

#[test]
fn models_that_it_does_not_list_are_named() {
    let shown = account("server", "http://gpu.internal:8000/v1");
    let catalogue = |upstream: &str| {
        let mut model = domain::model::Model::plain("quay", "p", domain::model::Kind::Chat);
        model.routes = domain::route::Routes::from(domain::route::Route {
            provider: "p".to_owned(),
            upstream: upstream.to_owned(),
            via: domain::route::Via::Realtime,
            shards: Vec::new(),
        });
        Catalogue::new([model])
    };
    let mut found = Findings::of("provider p");
    credential(&mut found, &shown);
    let listed = Ok(Some(BTreeSet::from(["qwen".to_owned()])));
    judge(&mut found, &shown, &listed, Some(&catalogue("qwen")));
    judge(&mut found, &shown, &listed, Some(&catalogue("llama")));
    insta::assert_snapshot!(told(found), @r"
    provider p
      ok      credential          there, from the variable OPENAI_API_KEY
      ok      reachable           http://gpu.internal:8000/v1 answers and lets us in
      ok      models              all 1 that the catalogue names are there
      ok      reachable           http://gpu.internal:8000/v1 answers and lets us in
      warning models              it does not list llama
              to mend it: correct upstream in SVC_MODELS_FILE, or load the model there

    nothing is wrong; 1 to look at
    ");
}

#[test]
fn a_paused_account_is_worth_a_warning() {
    let standing = |paused_at| Standing {
        name: "p".to_owned(),
        paused_at,
        reason: Some("the credential is not accepted".to_owned()),
        retry_at: None,
        open_jobs: 0,
        enqueued_tokens: 0,
        most_enqueued_tokens: None,
        submitting: None,
    };
    let account = account("server", "http://gpu.internal:8000/v1");
    let mut found = Findings::of("provider p");
    for told in [
        Some(vec![standing(Some(moment()))]),
        Some(vec![standing(None)]),
        Some(Vec::new()),
        None,
    ] {
        // It has no share of the other, which may be away.
        let standings = vec![("north".to_owned(), told), ("south".to_owned(), None)];
        paused(&mut found, &account, &standings);
    }
    insta::assert_snapshot!(told(found), @r"
    provider p
      warning paused              on shard north since 2026-01-01T00:00:00.000000Z: the credential is not accepted
              to mend it: mend that, then: longshored admin provider resume p
      ok      paused              no
      ok      paused              no
      warning paused              not known on shard north, which did not answer
              to mend it: mend the shard first

    nothing is wrong; 2 to look at
    ");
}
