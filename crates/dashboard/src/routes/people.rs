//! Routes of sign-in, accounts and organizations.

use domain::person::Role::{Owner, Viewer};

use crate::assets;
use crate::gate::RequiredAccess;
use crate::live;
use crate::page_route::{PageRoute, get_route, post_route};
use crate::people;

pub(super) fn people() -> Vec<PageRoute> {
    use RequiredAccess::{AnyUser, Public};
    use people::{account, home, invitation, oidc, password_reset, second_factor, setup, sign_in};
    vec![
        get_route("/dashboard", AnyUser, home::home),
        get_route("/dashboard/assets/{name}", Public, assets::asset),
        get_route("/dashboard/live", AnyUser, live::stream_page),
        get_route("/dashboard/setup", Public, setup::page),
        post_route("/dashboard/setup", Public, setup::set_up),
        get_route("/dashboard/sign-in", Public, sign_in::page),
        post_route("/dashboard/sign-in", Public, sign_in::sign_in),
        get_route("/dashboard/sign-in/code", Public, second_factor::page),
        post_route("/dashboard/sign-in/code", Public, second_factor::enter_code),
        post_route("/dashboard/sign-out", AnyUser, sign_in::sign_out),
        get_route("/dashboard/invitation", Public, invitation::page),
        post_route("/dashboard/invitation", Public, invitation::create_account),
        post_route("/dashboard/invitation/join", AnyUser, invitation::join),
        get_route("/dashboard/reset", Public, password_reset::page),
        post_route("/dashboard/reset", Public, password_reset::reset_password),
        get_route("/dashboard/oidc", Public, oidc::start_login),
        get_route(oidc::CALLBACK_PATH, Public, oidc::callback),
        get_route(oidc::OLD_CALLBACK_PATH, Public, oidc::callback),
        get_route("/dashboard/account", AnyUser, account::page),
        post_route(
            "/dashboard/account/password",
            AnyUser,
            account::change_password,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/account/sessions/end",
            AnyUser,
            account::end_sessions,
        ),
    ]
}

/// A person's second factor, and the confirmation before sensitive changes.
pub(super) fn proofs() -> Vec<PageRoute> {
    use RequiredAccess::AnyUser;
    use people::{confirm, enrolment};
    vec![
        get_route("/dashboard/confirm", AnyUser, confirm::page),
        post_route("/dashboard/confirm", AnyUser, confirm::confirm),
        get_route("/dashboard/second-factor", AnyUser, enrolment::page),
        post_route("/dashboard/second-factor/start", AnyUser, enrolment::start).with_recent_proof(),
        post_route(
            "/dashboard/second-factor/confirm",
            AnyUser,
            enrolment::confirm,
        ),
        post_route(
            "/dashboard/second-factor/remove",
            AnyUser,
            enrolment::remove,
        )
        .with_recent_proof(),
    ]
}

pub(super) fn organizations() -> Vec<PageRoute> {
    use RequiredAccess::{AnyUser, Operator, Organization};
    use people::{audit_log, members, organizations};
    vec![
        post_route("/dashboard/organizations", Operator, organizations::create),
        get_route("/dashboard/organizations", AnyUser, organizations::list),
        get_route(
            "/dashboard/organization/{organization}",
            Organization(Viewer),
            organizations::page,
        ),
        post_route(
            "/dashboard/organization/{organization}/projects",
            Organization(Owner),
            organizations::create_project,
        ),
        post_route(
            "/dashboard/organization/{organization}/key-lifetime",
            Organization(Owner),
            organizations::set_key_lifetime,
        )
        .with_recent_proof(),
        get_route(
            "/dashboard/organization/{organization}/members",
            Organization(Viewer),
            members::page,
        ),
        post_route(
            "/dashboard/organization/{organization}/members/invite",
            Organization(Owner),
            members::invite,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/organization/{organization}/members/withdraw",
            Organization(Owner),
            members::revoke_invitation,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/organization/{organization}/members/change",
            Organization(Owner),
            members::change_role,
        )
        .with_recent_proof(),
        post_route(
            "/dashboard/organization/{organization}/second-factor",
            Organization(Owner),
            organizations::require_second_factor,
        )
        .with_recent_proof(),
        get_route(
            "/dashboard/organization/{organization}/audit",
            Organization(Owner),
            audit_log::page,
        ),
        post_route(
            "/dashboard/organization/{organization}/audit/tokens",
            Organization(Owner),
            audit_log::create_token,
        )
        .with_recent_proof(),
        // A stolen session must not stop the copy of the log either.
        post_route(
            "/dashboard/organization/{organization}/audit/tokens/revoke",
            Organization(Owner),
            audit_log::revoke_token,
        )
        .with_recent_proof(),
    ]
}
