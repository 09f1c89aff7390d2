//! `longshored admin person …`

use chrono::TimeDelta;
use clap::Subcommand;
use domain::id::{Berth, OneTimeLinkId, OrganizationId, PersonId};
use domain::person::{Email, Role};
use domain::time::to_wire;
use serde::Serialize;
use store::control::audit_log::Actor;
use store::control::one_time_link::{self, LinkPurpose, OneTimeLink};
use store::control::person::{self, NewPerson, Person};
use store::control::{member, organization, second_factor};

use crate::admin::AdminContext;
use crate::admin::AdminFailure;
use crate::admin::ROWS_PER_PAGE;
use crate::admin::argument;
use crate::admin::printer::{AdminView, yes_or_no};
use crate::admin::random;

/// How long a password reset link is valid.
const LINK_LIFETIME: TimeDelta = TimeDelta::hours(24);

#[derive(Debug, Subcommand)]
pub(super) enum PersonCommand {
    /// Create a person, and a link for setting the password.
    Create {
        /// E-mail address for signing in.
        email: Email,
        #[arg(long, value_parser = argument::name)]
        name: String,
        /// Give the operator role for the whole service.
        #[arg(long)]
        operator: bool,
        /// Organization that the person joins.
        #[arg(long, requires = "role", value_parser = argument::id::<domain::id::OrganizationKind>)]
        organization: Option<OrganizationId>,
        /// Role in that organization.
        #[arg(long, requires = "organization", value_parser = argument::role())]
        role: Option<Role>,
    },
    /// Create a link for setting up an installation without users; its reader becomes the operator.
    Setup,
    /// List all people, oldest first.
    List,
    /// Create a password reset link for a person.
    Link { email: Email },
    /// Turn off the second factor of a person who has lost the device and the recovery codes.
    RemoveSecondFactor { email: Email },
    /// Give a person the operator role for the whole service, or remove it.
    Operator {
        email: Email,
        /// Remove the operator role.
        #[arg(long)]
        remove: bool,
    },
}

/// `public_url` is the URL under which browsers reach the dashboard.
pub(super) async fn run(
    command: PersonCommand,
    public_url: &str,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    match command {
        PersonCommand::Create {
            email,
            name,
            operator,
            organization,
            role,
        } => {
            let joins = organization.zip(role);
            let joins = joins.map(|(organization, role)| NewMembership { organization, role });
            create(email, name, operator, joins, public_url, context).await
        }
        PersonCommand::Setup => {
            let link = dashboard::offer_setup(context.control, public_url, context.now).await?;
            let link = link.ok_or(AdminFailure::AlreadySetUp)?;
            context.printer.render_one(&SetupView { link })
        }
        PersonCommand::List => list(context).await,
        PersonCommand::Link { email } => {
            let person = find(&email, context).await?;
            create_link(person, public_url, context).await
        }
        PersonCommand::RemoveSecondFactor { email } => {
            let person = find(&email, context).await?;
            let (id, by) = (person.id, Actor::console());
            second_factor::remove(context.control, id, &by, context.now).await?;
            context.printer.render_one(&PersonView::from(person))
        }
        PersonCommand::Operator { email, remove } => {
            let id = find(&email, context).await?.id;
            let by = Actor::console();
            let changed =
                person::set_operator(context.control, id, !remove, &by, context.now).await?;
            let changed =
                changed.ok_or_else(|| AdminFailure::NoPerson(email.as_str().to_owned()))?;
            context.printer.render_one(&PersonView::from(changed))
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct NewMembership {
    organization: OrganizationId,
    role: Role,
}

async fn create(
    email: Email,
    name: String,
    is_operator: bool,
    joins: Option<NewMembership>,
    public_url: &str,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    if let Some(NewMembership { organization, .. }) = joins {
        let found = organization::find(context.control, organization).await?;
        found.ok_or(AdminFailure::NoOrganization(organization))?;
    }
    let berth = joins.map_or_else(first_berth, |joins| Ok(joins.organization.berth()))?;
    let by = Actor::console();
    let new = NewPerson {
        id: PersonId::new(context.now, berth, random::entropy()?),
        name,
        email,
        password: None,
        is_operator,
    };
    match person::create(context.control, &new, &by, context.now).await {
        Ok(()) => {}
        Err(failure) if failure.is_unique_violation() => {
            return Err(AdminFailure::EmailTaken(new.email.as_str().to_owned()));
        }
        Err(failure) => return Err(failure.into()),
    }
    if let Some(NewMembership { organization, role }) = joins {
        member::add(
            context.control,
            organization,
            new.id,
            role,
            &by,
            context.now,
        )
        .await?;
    }
    let person = find(&new.email, context).await?;
    create_link(person, public_url, context).await
}

/// People belong to no shard. Their ids carry the first berth, or the berth of the organization
/// that they join.
fn first_berth() -> Result<Berth, AdminFailure> {
    Berth::new(0).ok_or(AdminFailure::NoBerths)
}

async fn find(email: &Email, context: AdminContext<'_>) -> Result<Person, AdminFailure> {
    let found = person::find_credentials(context.control, email).await?;
    found
        .map(|credentials| credentials.person)
        .ok_or_else(|| AdminFailure::NoPerson(email.as_str().to_owned()))
}

async fn create_link(
    person: Person,
    public_url: &str,
    context: AdminContext<'_>,
) -> Result<String, AdminFailure> {
    let token = random::token()?;
    let link = OneTimeLink {
        id: OneTimeLinkId::new(context.now, person.id.berth(), random::entropy()?),
        purpose: LinkPurpose::PasswordReset { person: person.id },
        created_by: None,
        created_at: context.now,
        expires_at: context.now + LINK_LIFETIME,
    };
    let by = Actor::console();
    one_time_link::create(context.control, token.digest(), &link, &by).await?;
    let mut view = PersonView::from(person);
    let secret = token.reveal();
    view.set_link(format!("{public_url}/dashboard/reset?pass={secret}"));
    context.printer.render_one(&view)
}

async fn list(context: AdminContext<'_>) -> Result<String, AdminFailure> {
    let mut views: Vec<PersonView> = Vec::new();
    let mut after = None;
    loop {
        let page = person::list(context.control, after, ROWS_PER_PAGE).await?;
        let Some(last) = page.last() else {
            return context.printer.render_many(&views);
        };
        after = Some(last.id);
        views.extend(page.into_iter().map(PersonView::from));
    }
}

/// No `Debug`: the link makes its reader the operator.
#[derive(Serialize)]
struct SetupView {
    link: String,
}

impl AdminView for SetupView {
    fn fields(&self) -> Vec<(&'static str, String)> {
        vec![("link", self.link.clone())]
    }

    fn note(&self) -> Option<&'static str> {
        Some("The person who opens the link becomes the operator. It works once, within 24 hours.")
    }
}

/// No `Debug`: it may hold a link that sets a password.
#[derive(Serialize)]
pub(super) struct PersonView {
    person_id: String,
    email: String,
    name: String,
    is_operator: bool,
    is_active: bool,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

impl PersonView {
    pub(super) fn set_link(&mut self, link: String) {
        self.link = Some(link);
    }
}

impl From<Person> for PersonView {
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

impl AdminView for PersonView {
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

    fn note(&self) -> Option<&'static str> {
        self.link.as_ref().map(|_| {
            "The link sets a password. It works once, within 24 hours, and cannot be shown again."
        })
    }
}
