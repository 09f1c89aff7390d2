// All pages of the dashboard, for the accessibility test, the screenshots and the benchmark.

import { OPERATOR } from "./browser.mjs";

/** The ids in page URLs, read from the rows of the demo. */
export async function demoIds(installation, project = "customer-support") {
  const [[id, organization, shard]] = await installation.sql(
    "control",
    `select p.id, 'org_' || replace(o.id::text, '-', ''), b.shard from control.project p
     join control.organization o on o.id = p.organization_id join control.berth b on b.number = o.berth
     where p.slug = '${project}'`,
  );
  const one = async (prefix, text) => {
    const [row] = await installation.sql(shard, text);
    return row && `${prefix}_${row[0].replaceAll("-", "")}`;
  };
  const newest = (where) => `select id from shard.cargo where project = '${id}' and ${where} order by id desc limit 1`;
  const newestGroup = (where) =>
    `select id from shard.cargo_group where project = '${id}' and ${where} order by id desc limit 1`;
  return {
    project,
    organization,
    delivered: await one("crg", newest("callback_state = 'delivered'")),
    failed: await one("crg", newest("not success")),
    callbackFailed: await one("crg", newest("callback_state = 'failed'")),
    tools: await one("crg", newest("success and model = 'claude-sonnet' and response_shape > 0")),
    schema: await one("crg", newest("success and model = 'gpt-5-mini' and response_shape > 0")),
    open: await one("crg", newest("completed_at is null and batch is not null")),
    group: await one("grp", newestGroup("completed_at is null")),
    completedGroup: await one("grp", newestGroup("completed_at is not null")),
    batch: await one("bat", `select batch from shard.share where project = '${id}' order by batch desc limit 1`),
    file: await one("file", `select id from shard.file where project = '${id}' and status = 'ready' order by id desc limit 1`),
  };
}

/** Makes the operator an owner of the organizations of the demo. */
export async function joinOrganizations(installation, email = OPERATOR.email) {
  await installation.sql(
    "control",
    `insert into control.member (organization, person, role, created_at)
     select o.id, p.id, 'owner', p.created_at from control.organization o, control.person p
     where p.folded = lower('${email}') on conflict do nothing`,
  );
}

/** Pages without a session. */
export const PUBLIC_PAGES = [
  { name: "sign-in", path: "/dashboard/sign-in" },
  { name: "sign-in-code", path: "/dashboard/sign-in/code" },
];

/** All other pages, except those for which the demo has no row. */
export function pages(known) {
  const project = `/dashboard/project/${known.project}`;
  const organization = `/dashboard/organization/${known.organization}`;
  const cargo = (id) => id && `${project}/cargo/${id}`;
  const all = {
    account: "/dashboard/account",
    "second-factor": "/dashboard/second-factor",
    confirm: "/dashboard/confirm",
    organizations: "/dashboard/organizations",
    organization,
    members: `${organization}/members`,
    balance: `${organization}/balance`,
    audit: `${organization}/audit`,
    overview: project,
    "cargo-list": `${project}/cargo`,
    "cargo-failed-list": `${project}/cargo?status=failed`,
    "cargo-cancelled-list": `${project}/cargo?status=cancelled`,
    "cargo-callback-failed-list": `${project}/cargo?status=callback_failed`,
    "cargo-new": `${project}/cargo/new`,
    "cargo-delivered": cargo(known.delivered),
    "cargo-failed": cargo(known.failed),
    "cargo-callback-failed": cargo(known.callbackFailed),
    "cargo-tools": cargo(known.tools),
    "cargo-schema": cargo(known.schema),
    "cargo-open": cargo(known.open),
    groups: `${project}/groups`,
    group: known.group && `${project}/groups/${known.group}`,
    "group-completed": known.completedGroup && `${project}/groups/${known.completedGroup}`,
    batches: `${project}/batches`,
    batch: known.batch && `${project}/batches/${known.batch}`,
    files: `${project}/files`,
    file: known.file && `${project}/files/${known.file}`,
    callbacks: `${project}/callbacks`,
    usage: `${project}/usage`,
    models: `${project}/models`,
    keys: `${project}/keys`,
    settings: `${project}/settings`,
    "callback-settings": `${project}/settings/callbacks`,
    operations: "/dashboard/operations",
    "operations-people": "/dashboard/operations/people",
    "operations-audit": "/dashboard/operations/audit",
  };
  return Object.entries(all)
    .filter(([, path]) => path)
    .map(([name, path]) => ({ name, path }));
}
