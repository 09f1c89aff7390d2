"""Alerts on money, secrets, files and hosts."""

from alert_cases import NORTH, counter_cases, gauge, page, state_cases, ticket
from rule_text import Alert, Case

CHECKED = "longshore_ledger_last_check_timestamp_seconds"
OLDEST = "longshore_ledger_oldest_proof_timestamp_seconds"
EXPIRY = "longshore_licence_expiry_timestamp_seconds"

MONEY_AND_SECRETS = (
    Alert(
        "LongshoreLedgerFault",
        "page",
        "max by (shard) (longshore_ledger_faults) > 0",
        "",
        "An invariant of the ledger is broken on the shard {{ $labels.shard }}",
        "ledger-fault",
        state_cases("longshore_ledger_faults", NORTH, 1, 0, page(shard="north")),
    ),
    Alert(
        "LongshoreLedgerUnchecked",
        "page",
        # A worker that has restarted and audits nothing has no series. Audits are a minute apart.
        f"time() - max by (shard) (max_over_time({CHECKED}[<6h>])) > <900|90>",
        "5m",
        "The ledger of the shard {{ $labels.shard }} was last audited more than 15 minutes ago",
        "ledger-unchecked",
        (
            Case(gauge(CHECKED, NORTH, 0), 30, (page(shard="north"),)),
            Case({f"{CHECKED}{{{NORTH}}}": "0+60x5 stale"}, 30, (page(shard="north"),)),
            Case({f"{CHECKED}{{{NORTH}}}": "0+60x60"}, 30),
        ),
    ),
    Alert(
        "LongshoreLedgerReadOverdue",
        "page",
        # Every kept row is read again within a day. Without audits there is no series, and the alert above fires.
        f"time() - max by (shard) (max_over_time({OLDEST}[<1h>])) > <93600>",
        "5m",
        "Rows of the ledger of the shard {{ $labels.shard }} were last read more than 26 hours ago",
        "ledger-unchecked",
        (
            Case(gauge(OLDEST, NORTH, 0, 1_700), 1_600, (page(shard="north"),)),
            Case(gauge(OLDEST, NORTH, 7_200, 1_700), 1_600),
        ),
    ),
    Alert(
        "LongshoreMasterKeyAway",
        "page",
        "sum(increase(longshore_data_key_unavailable_total[<10m>])) > 0",
        "5m",
        "Data keys cannot be unwrapped: encrypted projects wait",
        "master-key-away",
        counter_cases("longshore_data_key_unavailable_total", 'operation="batch"', page()),
    ),
    Alert(
        "LongshoreAuditFileLag",
        "ticket",
        "max(longshore_audit_file_lag_seconds) > <300>",
        "5m",
        "No process writes SVC_AUDIT_FILE",
        "audit-file-lag",
        state_cases("longshore_audit_file_lag_seconds", "", 400, 20, ticket()),
    ),
    Alert(
        "LongshoreLicenceExpires",
        "ticket",
        f"min({EXPIRY}) - time() < 2592000",
        "10m",
        "The licence expires within 30 days, or cannot be used",
        "licence-expires",
        (
            Case(gauge(EXPIRY, "", 2500000), 30, (ticket(),)),
            Case(gauge(EXPIRY, "", 2700000), 30),
        ),
    ),
)

HEALTHY = "longshore_files_dependency_healthy"

FILES = (
    Alert(
        "LongshoreObjectStoreAway",
        "page",
        f'min({HEALTHY}{{dependency="object_store"}}) < 1',
        "5m",
        "The object store fails its health checks: uploads and downloads get 503",
        "object-store-away",
        state_cases(HEALTHY, 'dependency="object_store"', 0, 1, page()),
    ),
    Alert(
        "LongshoreScannerDown",
        "ticket",
        f'min({HEALTHY}{{dependency="scanner"}}) < 1',
        "10m",
        "The malware scanner fails its health checks: uploaded files wait",
        "scanner-down",
        state_cases(HEALTHY, 'dependency="scanner"', 0, 1, ticket()),
    ),
    Alert(
        "LongshoreFileProbeDown",
        "ticket",
        f'min({HEALTHY}{{dependency="file_probe"}}) < 1',
        "10m",
        "A worker cannot start the sandboxed process that parses files: uploaded files wait",
        "files-wait",
        state_cases(HEALTHY, 'dependency="file_probe"', 0, 1, ticket()),
    ),
    Alert(
        "LongshoreFilesWait",
        "ticket",
        "max by (shard) (longshore_files_validating_oldest_age_seconds) > <1800>",
        "10m",
        "A file of the shard {{ $labels.shard }} waits for its verification for over 30 minutes",
        "files-wait",
        state_cases("longshore_files_validating_oldest_age_seconds", NORTH, 2000, 60, ticket(shard="north")),
    ),
    Alert(
        "LongshoreFilesLost",
        "page",
        "sum(increase(longshore_patrol_missing_objects_total[<1h>])) > 0",
        "",
        "Bytes of a ready file are missing in the object store",
        "files-lost",
        counter_cases("longshore_patrol_missing_objects_total", "", page()),
    ),
    Alert(
        "LongshoreObjectRemovalHeld",
        "ticket",
        "max by (shard) (longshore_object_removal_held) > 0",
        "10m",
        "No objects of the shard {{ $labels.shard }} are removed until an operator confirms its database",
        "object-removal-held",
        state_cases("longshore_object_removal_held", NORTH, 1, 0, ticket(shard="north")),
    ),
    Alert(
        "LongshoreRecoveryPause",
        "page",
        "max by (shard) (longshore_recovery_pause) > 0",
        "2m",
        "The shard {{ $labels.shard }} takes no loads until an operator accepts its restored database",
        "recovery-pause",
        state_cases("longshore_recovery_pause", NORTH, 1, 0, page(shard="north")),
    ),
)

FREE = "node_filesystem_avail_bytes"
SIZE = "node_filesystem_size_bytes"
DISK = 'instance="db:9100",mountpoint="/data"'
DISK_FILTER = '{fstype!~"tmpfs|overlay|squashfs|ramfs"}'
CERTIFICATE = "probe_ssl_earliest_cert_expiry"


def disk_cases(free, enough, severity):
    labels = {"severity": severity, "instance": "db:9100", "mountpoint": "/data"}
    return (
        Case(gauge(FREE, DISK, free) | gauge(SIZE, DISK, 100), 40, (labels,)),
        Case(gauge(FREE, DISK, enough) | gauge(SIZE, DISK, 100), 40),
    )


# These need node_exporter and blackbox_exporter.
HOSTS = (
    Alert(
        "LongshoreDiskLow",
        "ticket",
        f"{FREE}{DISK_FILTER} / {SIZE}{DISK_FILTER} < 0.15",
        "15m",
        "Less than 15 % of {{ $labels.mountpoint }} on {{ $labels.instance }} is free",
        "full-disk",
        disk_cases(14, 16, "ticket"),
    ),
    Alert(
        "LongshoreDiskFull",
        "page",
        f"{FREE}{DISK_FILTER} / {SIZE}{DISK_FILTER} < 0.05",
        "5m",
        "Less than 5 % of {{ $labels.mountpoint }} on {{ $labels.instance }} is free",
        "full-disk",
        disk_cases(4, 6, "page"),
    ),
    Alert(
        "LongshoreCertificateExpires",
        "ticket",
        f"min by (instance) ({CERTIFICATE}) - time() < 1209600",
        "10m",
        "The TLS certificate of {{ $labels.instance }} expires within 14 days",
        "certificate-expires",
        (
            Case(gauge(CERTIFICATE, 'instance="https://example.com"', 1200000), 30, (ticket(instance="https://example.com"),)),
            Case(gauge(CERTIFICATE, 'instance="https://example.com"', 1300000), 30),
        ),
    ),
)
