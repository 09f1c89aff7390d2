//! Users and organizations: sign-in, invitations, members, balance, audit log.

pub(crate) mod account;

mod attempts;

pub(crate) mod audit_log;

pub(crate) mod balance;

pub(crate) mod confirm;

pub(crate) mod enrolment;

pub(crate) mod oidc;

pub(crate) mod home;

pub(crate) mod invitation;

pub(crate) mod members;

pub(crate) mod organizations;

mod password;

pub(crate) mod password_reset;

pub(crate) mod second_factor;

mod session_start;

pub(crate) mod setup;

pub(crate) mod sign_in;

mod totp;

pub(crate) mod totp_secret;
