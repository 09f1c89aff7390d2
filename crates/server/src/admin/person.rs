//! `longshored admin person …`

use chrono::TimeDelta;
use clap::Subcommand;
use domain::id::{Berth, OrganizationId, PassId, PersonId};
use domain::person::{Email, Role};
use domain::time::to_wire;
use serde::Serialize;
use store::control::audit::Author;
use store::control::pass::{self, Pass, Purpose};
use store::control::person::{self, NewPerson, Person};
use store::control::{member, organization};

use crate::admin::AdminFailure;
use crate::admin::Desk;
use crate::admin::PAGE;
use crate::admin::argument;
use crate::admin::printer::{Shown, yes_or_no};
use crate::admin::random;

/// For how long a link to set a password is good.
const GOOD_FOR: TimeDelta = TimeDelta::hours(24);

#[derive(Debug, Subcommand)]
pub(super) enum PersonCommand {
    /// Make a person, and a link by which they set their password.
    Create {
        /// Their e-mail address, by which they sign in.
        email: Email,
        #[arg(long, value_parser = argument::name)]
        name: String,
        /// Of the whole service.
        #[arg(long)]
        operator: bool,
        /// The organization whose member they become.
        #[arg(long, requires = "role", value_parser = argument::id::<domain::id::OrganizationKind>)]
        organization: Option<OrganizationId>,
        /// As what.
        #[arg(long, requires = "organization", value_parser = argument::role())]
        role: Option<Role>,
    },
    /// Show everybody, in the order in which they came.
    List,
    /// Make a link by which a person sets a new password.
    Link { email: Email },
    /// Give somebody the whole service to run, or take it from them.
    Operator {
        email: Email,
        /// Take it from them.
        #[arg(long)]
        remove: bool,
    },
}

/// `at` is how browsers reach the dashboard.
pub(super) async fn run(
    command: PersonCommand,
    at: &str,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    match command {
        PersonCommand::Create {
            email,
            name,
            operator,
            organization,
            role,
        } => create(email, name, operator, organization.zip(role), at, desk).await,
        PersonCommand::List => list(desk).await,
        PersonCommand::Link { email } => {
            let person = find(&email, desk).await?;
            offer(person, at, desk).await
        }
        PersonCommand::Operator { email, remove } => {
            let id = find(&email, desk).await?.id;
            let by = Author::console();
            let changed = person::set_operator(desk.control, id, !remove, &by, desk.now).await?;
            let changed =
                changed.ok_or_else(|| AdminFailure::NoPerson(email.as_str().to_owned()))?;
            desk.printer.one(&View::from(changed))
        }
    }
}

async fn create(
    email: Email,
    name: String,
    is_operator: bool,
    joins: Option<(OrganizationId, Role)>,
    at: &str,
    desk: Desk<'_>,
) -> Result<String, AdminFailure> {
    if let Some((organization, _)) = joins {
        let found = organization::find(desk.control, organization).await?;
        found.ok_or(AdminFailure::NoOrganization(organization))?;
    }
    let berth = joins.map_or_else(first_berth, |(organization, _)| Ok(organization.berth()))?;
    let by = Author::console();
    let made = NewPerson {
        id: PersonId::new(desk.now, berth, random::entropy()?),
        name,
        email,
        password: None,
        is_operator,
    };
    match person::create(desk.control, &made, &by, desk.now).await {
        Ok(()) => {}
        Err(failure) if failure.is_conflict() => {
            return Err(AdminFailure::EmailTaken(made.email.as_str().to_owned()));
        }
        Err(failure) => return Err(failure.into()),
    }
    if let Some((organization, role)) = joins {
        member::add(desk.control, organization, made.id, role, &by, desk.now).await?;
    }
    let person = find(&made.email, desk).await?;
    offer(person, at, desk).await
}

/// People belong to no shard; their ids carry the first berth, or that of whom they join.
fn first_berth() -> Result<Berth, AdminFailure> {
    Berth::new(0).ok_or(AdminFailure::NoBerths)
}

async fn find(email: &Email, desk: Desk<'_>) -> Result<Person, AdminFailure> {
    let found = person::lock(desk.control, email).await?;
    found
        .map(|lock| lock.person)
        .ok_or_else(|| AdminFailure::NoPerson(email.as_str().to_owned()))
}

async fn offer(person: Person, at: &str, desk: Desk<'_>) -> Result<String, AdminFailure> {
    let token = random::token()?;
    let offered = Pass {
        id: PassId::new(desk.now, person.id.berth(), random::entropy()?),
        purpose: Purpose::Reset { person: person.id },
        made_by: None,
        created_at: desk.now,
        expires_at: desk.now + GOOD_FOR,
    };
    let by = Author::console();
    pass::create(desk.control, token.digest(), &offered, &by).await?;
    let mut view = View::from(person);
    view.offer(format!("{at}/dashboard/reset?pass={}", token.reveal()));
    desk.printer.one(&view)
}

async fn list(desk: Desk<'_>) -> Result<String, AdminFailure> {
    let mut views: Vec<View> = Vec::new();
    let mut after = None;
    loop {
        let page = person::page(desk.control, after, PAGE).await?;
        let Some(last) = page.last() else {
            return desk.printer.many(&views);
        };
        after = Some(last.id);
        views.extend(page.into_iter().map(View::from));
    }
}

/// No `Debug`: for once it may hold a link that is as good as a password.
#[derive(Serialize)]
pub(super) struct View {
    person_id: String,
    email: String,
    name: String,
    is_operator: bool,
    is_active: bool,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

impl View {
    pub(super) fn offer(&mut self, link: String) {
        self.link = Some(link);
    }
}

impl From<Person> for View {
    fn from(person: Person) -> Self {
        Self {
            person_id: person.id.to_string(),
            email: person.email,
            name: person.name,
            is_operator: person.is_operator,
            is_active: person.is_active,
            created_at: to_wire(person.created_at),
            link: None,
        }
    }
}

impl Shown for View {
    fn fields(&self) -> Vec<(&'static str, String)> {
        let mut fields = vec![
            ("person", self.person_id.clone()),
            ("e-mail", self.email.clone()),
            ("name", self.name.clone()),
            ("operator", yes_or_no(self.is_operator)),
            ("active", yes_or_no(self.is_active)),
            ("created", self.created_at.clone()),
        ];
        if let Some(link) = &self.link {
            fields.push(("link", link.clone()));
        }
        fields
    }

    fn remark(&self) -> Option<&'static str> {
        self.link.as_ref().map(
            |_| "The link sets a password. It is good once, for 24 hours, and shown this once.",
        )
    }
}
