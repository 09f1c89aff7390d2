//! Which commands are accepted, and how their output looks.

use clap::Parser;
use domain::account::{Account, MonthlyTokenQuota};
use domain::id::{ApiKeyId, Berth, OrganizationId, PersonId, ProjectId};
use domain::key_scope::{KeyRight, KeyScope};
use domain::money::Money;
use domain::organization::Plan;
use store::control::api_key::ApiKeyRow;
use store::control::organization::Organization;
use store::control::person::Person;
use store::control::project::Project;
use store::shard::credit::{Payment, PaymentDirection};

use super::*;

#[derive(Debug, Parser)]
struct CommandLine {
    #[command(flatten)]
    command: AdminCommand,
}

fn parse_line(line: &str) -> Result<AdminCommand, String> {
    let parsed = CommandLine::try_parse_from(std::iter::once("admin").chain(line.split(' ')));
    parsed
        .map(|line| line.command)
        .map_err(|error| error.to_string())
}

fn moment() -> Timestamp {
    Timestamp::from_timestamp_micros(1_767_225_600_000_000).unwrap()
}

fn berth() -> Berth {
    Berth::new(5).unwrap()
}

fn organizations() -> Vec<organization::OrganizationView> {
    let named = |number, name: &str| Organization {
        id: OrganizationId::new(moment(), berth(), number),
        name: name.to_owned(),
        plan: Plan::Pro,
        berth: berth(),
        created_at: moment(),
    };
    let both = [named(1, "Éclair & Sons"), named(2, "B")];
    both.map(|made| organization::OrganizationView::new(made, "north".to_owned()))
        .into()
}

fn key() -> ApiKeyRow {
    ApiKeyRow {
        id: ApiKeyId::new(moment(), berth(), 3),
        project: ProjectId::new(moment(), berth(), 2),
        name: "ci".to_owned(),
        prefix: "svc_sk_ABCDE".to_owned(),
        is_active: false,
        expires_at: Some(moment()),
        last_used_at: None,
        last_used_address: None,
        created_at: moment(),
        successor: None,
        scope: KeyScope {
            rights: Some(vec![KeyRight::Load]),
            ..KeyScope::default()
        },
    }
}

#[test]
fn the_documented_commands_are_accepted() {
    let (org, prj, key) = ("org_", "prj_", "key_");
    let digits = "0".repeat(32);
    for line in [
        "organization create Example --plan pro".to_owned(),
        "organization create Example --plan free --shard north --json".to_owned(),
        "organization list --json".to_owned(),
        format!("organization show {org}{digits}"),
        format!("organization set-plan {org}{digits} enterprise --json"),
        format!("project create --organization {org}{digits} --slug north-demo --json"),
        format!("project list --organization {org}{digits}"),
        format!("project activate {prj}{digits}"),
        format!("project deactivate {prj}{digits} --json"),
        format!("project retention {prj}{digits}"),
        format!("project retention {prj}{digits} 7"),
        format!("project retention {prj}{digits} zero --json"),
        format!("project include-metadata {prj}{digits}"),
        format!("project exclude-metadata {prj}{digits} --json"),
        format!("signing show {prj}{digits} --json"),
        format!("signing enable {prj}{digits}"),
        format!("signing disable {prj}{digits}"),
        format!("signing rotate {prj}{digits}"),
        format!("signing rotate {prj}{digits} --overlap 7d --replace-previous --json"),
        format!("signing end-previous {prj}{digits}"),
        format!("signing secret {prj}{digits} --json"),
        "recovery status --json".to_owned(),
        "recovery pause --shard north --restored-to 2027-01-31T00:00:00Z".to_owned(),
        "recovery jobs --dry-run --exclusive gemini-main --json".to_owned(),
        "recovery report --since 2027-01-31T00:00:00Z".to_owned(),
        "recovery accept --skip claude-main --exclusive a --exclusive b".to_owned(),
        "encryption enable".to_owned(),
        "encryption status --json".to_owned(),
        "encryption rotate-master".to_owned(),
        format!("encryption rotate-project {prj}{digits} --json"),
        format!("key create --project {prj}{digits} --name ci --json"),
        format!("key create --project {prj}{digits} --name ci --expires-at 2027-01-31T00:00:00Z"),
        format!(
            "key create --project {prj}{digits} --name ci --rights load,read --models svc-mock \
             --addresses 192.0.2.7,10.0.0.0/8 --monthly-cap 12.50"
        ),
        format!("key list --project {prj}{digits}"),
        format!("key activate {key}{digits}"),
        format!("key deactivate {key}{digits}"),
        format!("organization set-quota {org}{digits} 5000000 --json"),
        format!("organization set-quota {org}{digits} plan"),
        format!("organization set-quota {org}{digits} unlimited"),
        format!("credit add {org}{digits} 250 --reference invoice-1007 --note paid --json"),
        format!("credit withdraw {org}{digits} 0.000000001"),
        format!("ledger statement {org}{digits} --since 2026-01-01 --until 2026-02-01"),
        format!("ledger statement {org}{digits} --since 2026-01-01T12:00:00Z --form csv"),
        format!("ledger statement {org}{digits} --json"),
        "ledger check --json".to_owned(),
        "provider list --json".to_owned(),
        "provider resume openai-main --json".to_owned(),
        "person create ada@example.com --name Ada --operator --json".to_owned(),
        format!("person create a@b --name Ada --organization {org}{digits} --role viewer"),
        "person setup --json".to_owned(),
        "person list --json".to_owned(),
        "person link ada@example.com --json".to_owned(),
        "person remove-second-factor ada@example.com".to_owned(),
        "person operator ada@example.com".to_owned(),
        "person operator ada@example.com --remove --json".to_owned(),
        "audit create-token --name siem --json".to_owned(),
        format!("audit create-token --name siem --organization {org}{digits}"),
        "audit list-tokens --json".to_owned(),
        format!("audit revoke-token aut_{digits}"),
        format!("erase project {prj}{digits}"),
        format!("erase organization {org}{digits} --yes --json"),
        "erase person ada@example.com --yes".to_owned(),
        "licence show".to_owned(),
        "licence verify licence.json --json".to_owned(),
        "licence verify".to_owned(),
    ] {
        let command = parse_line(&line).unwrap();
        assert_eq!(command.json, line.ends_with("--json"), "{line}");
    }
}

#[test]
fn invalid_commands_are_explained() {
    let explained = |line: &str| {
        let line = line.replace("DIGITS", &"0".repeat(32));
        let error = parse_line(&line).unwrap_err();
        error.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(explained("organization show example"), @"error: invalid value 'example' for '<ID>': expected org_ and 32 hex digits");
    insta::assert_snapshot!(explained("organization create Example --plan gold"), @r"
    error: invalid value 'gold' for '--plan <PLAN>'
      [possible values: free, starter, pro, enterprise]
    ");
    insta::assert_snapshot!(explained("project create --organization org_DIGITS --slug A_b"), @"error: invalid value 'A_b' for '--slug <SLUG>': a slug is 1 to 63 characters of a-z, 0-9 and -, and neither begins nor ends with -");
    insta::assert_snapshot!(explained("organization set-quota org_DIGITS much"), @"error: invalid value 'much' for '<TOKENS>': expected a number of tokens, `plan` or `unlimited`");
    insta::assert_snapshot!(explained("project retention prj_DIGITS 0"), @"error: invalid value '0' for '[RETENTION]': a retention is a number of days from 1 to 3650, `zero` or `default`");
    insta::assert_snapshot!(explained("person link ada"), @"error: invalid value 'ada' for '<EMAIL>': an e-mail address looks like name@host, with at most 254 characters");
    insta::assert_snapshot!(explained("person create a@b --name A --role owner"), @r"
    error: the following required arguments were not provided:
      --organization <ORGANIZATION>
    ");
    insta::assert_snapshot!(explained("credit add org_DIGITS -5"), @"error: invalid value '-5' for '<DOLLARS>': an amount must be above zero; use `withdraw` to take credit out");
    insta::assert_snapshot!(explained("credit add org_DIGITS 1,50"), @"error: invalid value '1,50' for '<DOLLARS>': an amount is written in dollars with at most nine decimals, such as 12.50");
    insta::assert_snapshot!(explained("ledger statement org_DIGITS --since yesterday"), @"error: invalid value 'yesterday' for '--since <DATE>': expected a day like 2027-01-31, or a time like 2027-01-31T12:00:00Z");
    insta::assert_snapshot!(explained("ledger statement org_DIGITS --form csv --json"), @"error: the argument '--form <FORM>' cannot be used with '--json'");
    insta::assert_snapshot!(explained("key create --project prj_DIGITS --name x --expires-at soon"), @"error: invalid value 'soon' for '--expires-at <EXPIRES_AT>': expected a time like 2027-01-31T00:00:00Z");
}

#[test]
fn text_is_aligned() {
    insta::assert_snapshot!(Printer::Text.render_many(&organizations()).unwrap(), @r#"
    ORGANIZATION                          NAME           PLAN  BERTH  SHARD  CREATED
    org_019b76daa80070008050000000000001  Éclair & Sons  pro   5      north  2026-01-01T00:00:00.000000Z
    org_019b76daa80070008050000000000002  B              pro   5      north  2026-01-01T00:00:00.000000Z
    "#);
    insta::assert_snapshot!(Printer::Text.render_many::<project::ProjectView>(&[]).unwrap(), @"none");
}

#[test]
fn a_script_gets_one_object_or_one_array() {
    let made = Project {
        id: ProjectId::new(moment(), berth(), 2),
        organization: OrganizationId::new(moment(), berth(), 1),
        slug: "north-demo".parse().unwrap(),
        is_active: true,
        created_at: moment(),
        is_erased: false,
    };
    insta::assert_snapshot!(Printer::Json.render_one(&project::ProjectView::from(made)).unwrap(), @r#"{"project_id":"prj_019b76daa80070008050000000000002","organization_id":"org_019b76daa80070008050000000000001","slug":"north-demo","is_active":true,"created_at":"2026-01-01T00:00:00.000000Z"}"#);
    insta::assert_snapshot!(Printer::Json.render_one(&organizations()[0]).unwrap(), @r#"{"organization_id":"org_019b76daa80070008050000000000001","name":"Éclair & Sons","plan":"pro","berth":5,"shard":"north","created_at":"2026-01-01T00:00:00.000000Z"}"#);
    insta::assert_snapshot!(Printer::Json.render_many::<project::ProjectView>(&[]).unwrap(), @"[]");
}

#[test]
fn a_key_is_shown_in_full_only_when_it_is_made() {
    insta::assert_snapshot!(Printer::Json.render_one(&key::KeyView::from(key())).unwrap(), @r#"{"key_id":"key_019b76daa80070008050000000000003","project_id":"prj_019b76daa80070008050000000000002","name":"ci","key_prefix":"svc_sk_ABCDE","is_active":false,"expires_at":"2026-01-01T00:00:00.000000Z","last_used_at":null,"last_used_address":null,"created_at":"2026-01-01T00:00:00.000000Z","scope":"rights load"}"#);
    let mut created = key::KeyView::from(key());
    created.set_key("svc_sk_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef");
    insta::assert_snapshot!(Printer::Text.render_one(&created).unwrap(), @r#"
    key id     key_019b76daa80070008050000000000003
    project    prj_019b76daa80070008050000000000002
    name       ci
    prefix     svc_sk_ABCDE
    active     no
    expires    2026-01-01T00:00:00.000000Z
    last used  -
    from       -
    created    2026-01-01T00:00:00.000000Z
    scope      rights load
    key        svc_sk_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef

    Store the key now: it cannot be shown again. Longshore keeps only its digest.
    "#);
    insta::assert_snapshot!(Printer::Json.render_one(&created).unwrap(), @r#"{"key_id":"key_019b76daa80070008050000000000003","project_id":"prj_019b76daa80070008050000000000002","name":"ci","key":"svc_sk_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef","key_prefix":"svc_sk_ABCDE","is_active":false,"expires_at":"2026-01-01T00:00:00.000000Z","last_used_at":null,"last_used_address":null,"created_at":"2026-01-01T00:00:00.000000Z","scope":"rights load"}"#);
}

#[test]
fn a_person_is_shown_with_a_link_only_when_it_is_made() {
    let person = Person {
        id: PersonId::new(moment(), berth(), 4),
        name: "Ada".to_owned(),
        email: "ada@example.com".to_owned(),
        is_operator: true,
        is_active: true,
        created_at: moment(),
    };
    insta::assert_snapshot!(Printer::Text.render_many(&[person::PersonView::from(person.clone())]).unwrap(), @r"
    PERSON                                E-MAIL           NAME  OPERATOR  ACTIVE  CREATED
    usr_019b76daa80070008050000000000004  ada@example.com  Ada   yes       yes     2026-01-01T00:00:00.000000Z
    ");
    let mut with_link = person::PersonView::from(person);
    with_link.set_link("https://longshore.example/dashboard/reset?pass=00".to_owned());
    insta::assert_snapshot!(Printer::Json.render_one(&with_link).unwrap(), @r#"{"person_id":"usr_019b76daa80070008050000000000004","email":"ada@example.com","name":"Ada","is_operator":true,"is_active":true,"created_at":"2026-01-01T00:00:00.000000Z","link":"https://longshore.example/dashboard/reset?pass=00"}"#);
    insta::assert_snapshot!(Printer::Text.render_one(&with_link).unwrap(), @r"
    person    usr_019b76daa80070008050000000000004
    e-mail    ada@example.com
    name      Ada
    operator  yes
    active    yes
    created   2026-01-01T00:00:00.000000Z
    link      https://longshore.example/dashboard/reset?pass=00

    The link sets a password. It works once, within 24 hours, and cannot be shown again.
    ");
}

#[test]
fn keys_are_random_each_time() {
    let (one, other) = (random::api_key().unwrap(), random::api_key().unwrap());
    assert_ne!(one, other);
    assert_ne!(random::entropy().unwrap(), random::entropy().unwrap());
}

#[test]
fn a_name_is_for_people() {
    assert_eq!(argument::name("  Example  "), Ok("Example".to_owned()));
    for bad in ["", "  ", "a\u{1b}[31m", &"x".repeat(201)] {
        assert!(argument::name(bad).is_err());
    }
}

fn account(own: Option<u64>, period: &str) -> Account {
    Account {
        organization: OrganizationId::new(moment(), berth(), 1),
        posted: Money(249_999_971_800),
        held: Money(28_200),
        postings: 2,
        tokens: MonthlyTokenQuota {
            custom_quota: own,
            period: period.parse().unwrap(),
            used: 4,
            reserved: 90,
        },
    }
}

#[test]
fn an_organization_is_shown_with_its_credit_and_its_month() {
    let details = |account| {
        let view = organizations().remove(0);
        organization::OrganizationDetails::new(view, account, Some(5_000_000), moment())
    };
    let current = details(Some(account(None, "2026-01-01")));
    insta::assert_snapshot!(Printer::Text.render_one(&current).unwrap(), @r"
    organization      org_019b76daa80070008050000000000001
    name              Éclair & Sons
    plan              pro
    berth             5
    shard             north
    created           2026-01-01T00:00:00.000000Z
    credit posted     249.9999718 USD
    credit held       0.0000282 USD
    credit available  249.9999436 USD
    monthly quota     5000000 tokens (from its plan)
    tokens used       4
    tokens reserved   90
    ");
    insta::assert_snapshot!(Printer::Json.render_one(&current).unwrap(), @r#"{"organization_id":"org_019b76daa80070008050000000000001","name":"Éclair & Sons","plan":"pro","berth":5,"shard":"north","created_at":"2026-01-01T00:00:00.000000Z","credit":{"posted":249999971800,"held":28200,"available":249999943600,"currency":"USD","scale":9},"monthly_tokens":{"quota":5000000,"is_own":false,"used":4,"reserved":90}}"#);
    let unlimited = details(Some(account(
        Some(argument::UNLIMITED_TOKENS),
        "2025-12-01",
    )));
    insta::assert_snapshot!(Printer::Json.render_one(&unlimited).unwrap(), @r#"{"organization_id":"org_019b76daa80070008050000000000001","name":"Éclair & Sons","plan":"pro","berth":5,"shard":"north","created_at":"2026-01-01T00:00:00.000000Z","credit":{"posted":249999971800,"held":28200,"available":249999943600,"currency":"USD","scale":9},"monthly_tokens":{"quota":null,"is_own":true,"used":0,"reserved":0}}"#);
    insta::assert_snapshot!(Printer::Text.render_one(&details(None)).unwrap(), @r"
    organization  org_019b76daa80070008050000000000001
    name          Éclair & Sons
    plan          pro
    berth         5
    shard         north
    created       2026-01-01T00:00:00.000000Z

    The shard did not answer: credit and tokens are unknown. `longshored doctor` says more.
    ");
}

#[test]
fn a_payment_is_shown_with_its_posting() {
    let payment = Payment {
        amount: Money(250_000_000_000),
        direction: PaymentDirection::In,
        reference: Some("invoice-1007".to_owned()),
        note: None,
    };
    let organization = OrganizationId::new(moment(), berth(), 1);
    let paid = || credit::CreditView::new(organization, payment.clone(), 7, Money(260_000_000_001));
    insta::assert_snapshot!(Printer::Json.render_one(&paid()).unwrap(), @r#"{"organization_id":"org_019b76daa80070008050000000000001","posting":7,"kind":"deposit","amount":250000000000,"balance":260000000001,"currency":"USD","scale":9,"reference":"invoice-1007","note":null,"repeated":false}"#);
    insta::assert_snapshot!(Printer::Text.render_one(&paid().repeat()).unwrap(), @r"
    organization  org_019b76daa80070008050000000000001
    posting       7
    deposit       250.00 USD
    balance       260.000000001 USD
    reference     invoice-1007

    This reference was posted before: nothing changed. The balance is the one after that posting.
    ");
}

#[test]
fn a_day_begins_at_midnight() {
    assert_eq!(argument::day_or_moment("2026-01-01"), Ok(moment()));
    assert_eq!(
        argument::day_or_moment("2026-01-01T01:00:00+01:00"),
        Ok(moment())
    );
}
