-- Erasure of people and projects.
-- Additive: servers of the version before erase nothing.

set local lock_timeout = '5s';

alter table control.project
    -- Its data was erased. The row stays, without the slug, because usage and postings refer to it.
    add column erased_at timestamptz;

-- The audit log is append-only, with one exception: erasing a person, a project or an organization
-- removes names from entries. It never removes an entry.
create or replace function control.refuse_change() returns trigger
language plpgsql as $$
begin
    if tg_op = 'UPDATE' and current_setting('longshore.erasing', true) = 'on' then
        return null;
    end if;
    raise exception 'the audit log is append-only';
end
$$;
