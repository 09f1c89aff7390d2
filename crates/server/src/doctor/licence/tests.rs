//! The findings about a licence, as the operator sees them.

use domain::plan_limits::LimitsByPlan;

use super::*;
use crate::doctor::tests::{noon, report, settings};
use crate::doctor::{FindingState, render_text};

#[test]
fn the_licence_is_read_and_its_end_foreseen() {
    let defaults = LimitsByPlan::default().enterprise;
    let in_force = || Licence {
        licensee: "Example Ltd".to_owned(),
        issued_at: noon(),
        expires_at: noon() + TimeDelta::days(30),
        limits: PlanLimits {
            monthly_tokens: Some(5),
            ..defaults
        },
    };
    let mut found = DependencyFindings::new("licence");
    check_licence(&mut found, Ok(None), defaults, noon());
    check_licence(&mut found, Ok(Some(in_force())), defaults, noon());
    let late = noon() + TimeDelta::hours(12);
    check_licence(&mut found, Ok(Some(in_force())), defaults, late);
    let over = noon() + TimeDelta::days(30);
    check_licence(&mut found, Ok(Some(in_force())), defaults, over);
    insta::assert_snapshot!(render_text(&report(found)), @r"
    licence
      ok      file                none: the enterprise plan uses its default limits
      ok      enterprise          burst 10000, 60000 loads per minute, monthly tokens unlimited
      ok      file                in force for Example Ltd until 2026-01-31T12:00:00.000000Z
      ok      enterprise          burst 10000, 60000 loads per minute, monthly tokens 5
      warning file                in force for Example Ltd until 2026-01-31T12:00:00.000000Z: 29 days left
              fix: request a new licence, replace the file and send SIGHUP
              see docs/runbooks/licence-expires.md
      ok      enterprise          burst 10000, 60000 loads per minute, monthly tokens 5
      ERROR   file                the licence expired at 2026-01-31T12:00:00.000000Z
              fix: request a new licence, replace the file and send SIGHUP
              see docs/runbooks/licence-expires.md
      ok      enterprise          burst 10000, 60000 loads per minute, monthly tokens unlimited

    errors: 1; warnings: 1
    ");
}

#[test]
fn a_licence_that_is_not_in_force_is_wrong() {
    let examined = |more: &[(&str, &str)]| {
        let found = examine(&settings(more).values, noon());
        render_text(&report(found))
    };
    let file = ("SVC_LICENCE_FILE", "/nowhere/licence.json");
    insta::assert_snapshot!(examined(&[file]), @r"
    licence
      ERROR   file                the licence file /nowhere/licence.json cannot be read: No such file or directory (os error 2)
              fix: put the licence there and make it readable for this user, or correct SVC_LICENCE_FILE
              see docs/runbooks/licence-expires.md
      ok      enterprise          burst 10000, 60000 loads per minute, monthly tokens unlimited

    errors: 1
    ");
    insta::assert_snapshot!(examined(&[file, ("SVC_DEPLOYMENT", "cloud")]), @r"
    licence
      warning file                SVC_LICENCE_FILE is set, but SVC_DEPLOYMENT=cloud ignores licences
              fix: unset it, or set SVC_DEPLOYMENT=self_hosted
              see docs/runbooks/licence-expires.md

    no errors; warnings: 1
    ");
    assert_eq!(
        examined(&[("SVC_DEPLOYMENT", "cloud")]),
        "\nno problems found"
    );
    let mut found = DependencyFindings::new("licence");
    let defaults = LimitsByPlan::default().enterprise;
    for failure in [
        LicenceFailure::NotJson("expected value at line 1 column 1".to_owned()),
        LicenceFailure::PublicKeyMissing,
        LicenceFailure::InvalidSignature,
    ] {
        check_licence(&mut found, Err(failure), defaults, noon());
    }
    found
        .list
        .retain(|finding| finding.state == FindingState::Wrong);
    insta::assert_snapshot!(render_text(&report(found)), @r"
    licence
      ERROR   file                the licence is not a JSON object with `entitlements` and `signature`: expected value at line 1 column 1
              fix: request the licence file again: this one is damaged
              see docs/runbooks/licence-expires.md
      ERROR   file                the licence cannot be verified: SVC_LICENCE_PUBLIC_KEY is not set
              fix: set SVC_LICENCE_PUBLIC_KEY to the public key that came with the licence
              see docs/runbooks/licence-expires.md
      ERROR   file                the signature of the licence is invalid: the licence was changed, or SVC_LICENCE_PUBLIC_KEY is not the key that signed it
              fix: correct SVC_LICENCE_PUBLIC_KEY, or request the licence file again
              see docs/runbooks/licence-expires.md

    errors: 3
    ");
}
