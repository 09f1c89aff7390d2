-- Rows as programs write them: {set} is a number of four digits, so that there can be several sets.
-- What follows `since N` needs migration N.

-- since 4
insert into control.berth (number, shard) values ({number}, 'main');
insert into control.organization (id, name, plan, berth, created_at)
    values ('00000000-0000-0000-0001-00000000{set}', 'Example', 'pro', {number}, '2026-01-05 12:00Z');
insert into control.project (id, organization_id, slug, created_at)
    values ('00000000-0000-0000-0002-00000000{set}', '00000000-0000-0000-0001-00000000{set}', 'web-{set}', '2026-01-05 12:00Z');
insert into control.api_key (id, project_id, name, prefix, digest, created_at)
    values ('00000000-0000-0000-0003-00000000{set}', '00000000-0000-0000-0002-00000000{set}', 'ci', 'svc_sk_00000',
        sha256('{set}'::bytea), '2026-01-05 12:00Z');
update control.api_key set last_used_at = '2026-01-05 13:00Z' where id = '00000000-0000-0000-0003-00000000{set}';
insert into control.change (kind, subject, at) values ('key', '00000000-0000-0000-0003-00000000{set}', '2026-01-05 12:00Z');
insert into control.node (node, name, seen_until) values ('00000000-0000-0000-0004-00000000{set}', 'host:1', '2026-01-05 12:00Z');
insert into control.person (id, name, email, folded, created_at)
    values ('00000000-0000-0000-0005-00000000{set}', 'Ada', 'ada{set}@example.com', 'ada{set}@example.com', '2026-01-05 12:00Z');
insert into control.identity (issuer, subject, person, created_at)
    values ('https://login.example', '{set}', '00000000-0000-0000-0005-00000000{set}', '2026-01-05 12:00Z');
insert into control.member (organization, person, role, created_at)
    values ('00000000-0000-0000-0001-00000000{set}', '00000000-0000-0000-0005-00000000{set}', 'owner', '2026-01-05 12:00Z');
insert into control.session (digest, id, person, created_at, seen_at, expires_at, address, agent)
    values (sha256('{set}'::bytea), '00000000-0000-0000-0006-00000000{set}', '00000000-0000-0000-0005-00000000{set}',
        '2026-01-05 12:00Z', '2026-01-05 12:00Z', '2026-01-06 12:00Z', '192.0.2.1', 'browser');
insert into control.pass (digest, id, kind, person, created_at, expires_at)
    values (sha256('{set}'::bytea), '00000000-0000-0000-0007-00000000{set}', 'reset', '00000000-0000-0000-0005-00000000{set}',
        '2026-01-05 12:00Z', '2026-01-06 12:00Z');
insert into control.throttle (subject, failures, first_at) values (sha256('{set}'::bytea), 1, '2026-01-05 12:00Z');
insert into control.audit (at, person, who, organization, action, subject)
    values ('2026-01-05 12:00Z', '00000000-0000-0000-0005-00000000{set}', 'Ada', '00000000-0000-0000-0001-00000000{set}',
        'created', 'key');

-- since 5
insert into control.totp (person, secret, created_at)
    values ('00000000-0000-0000-0005-00000000{set}', decode(repeat('00', 20), 'hex'), '2026-01-05 12:00Z');
insert into control.recovery_code (person, digest) values ('00000000-0000-0000-0005-00000000{set}', sha256('{set}'::bytea));
insert into control.factor_challenge (digest, person, expires_at)
    values (sha256('{set}'::bytea), '00000000-0000-0000-0005-00000000{set}', '2026-01-06 12:00Z');
insert into control.audit_token (id, name, prefix, digest, created_at)
    values ('00000000-0000-0000-0008-00000000{set}', 'siem', 'svc_audit_00000', sha256('{set}'::bytea), '2026-01-05 12:00Z');
