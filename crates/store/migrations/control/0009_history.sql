-- Retention of the audit log and of the feed of changes.
-- Additive: servers of the version before delete none of it.

set local lock_timeout = '5s';

-- The audit log is append-only, with two exceptions: erasing a person, a project or an organization
-- removes names from entries, and the retention deletes the oldest entries.
create or replace function control.refuse_change() returns trigger
language plpgsql as $$
begin
    if tg_op = 'UPDATE' and current_setting('longshore.erasing', true) = 'on' then
        return null;
    end if;
    if tg_op = 'DELETE' and current_setting('longshore.retention', true) = 'on' then
        return null;
    end if;
    raise exception 'the audit log is append-only';
end
$$;
