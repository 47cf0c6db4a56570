package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/perks/store"
)

const (
	maxClockDifference = 2 * time.Second
	maxBehind          = 30 * time.Second // of a standby
	maxKeptLog         = 4 << 30          // bytes that a replication slot holds back
)

// Inspect checks the server at the address, and the role: what Settings does not, and cannot mend. It changes nothing.
func Inspect(ctx context.Context, address string) ([]store.Finding, error) {
	return readAt(ctx, "inspect the server", address, func(q store.Querier) ([]store.Finding, error) {
		s, err := store.One(q, scanServerState, serverState)
		if err != nil {
			return nil, err
		}
		findings := s.findings(time.Now())
		for _, part := range []struct {
			none store.Finding
			text string
		}{{noStandbys, standbyFindings}, {store.Finding{}, slotFindings}, {noArchive, archiveFindings}} {
			found, err := store.All(q, scanFinding, part.text)
			if err != nil {
				return nil, err
			}
			if len(found) == 0 && part.none.Check != "" {
				found = []store.Finding{part.none}
			}
			findings = append(findings, found...)
		}
		return append(findings, store.Finding{Check: "disk", Outcome: store.NotChecked,
			Found:  "PostgreSQL does not tell how much space its disks have",
			Advice: "watch them with the monitoring of its machine"}), nil
	})
}

// serverState selects what scanServerState takes.
const serverState = `
	SELECT current_setting('server_version'), current_setting('server_version_num')::integer / 10000,
		current_user::text, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
		pg_has_role(current_user, 'pg_read_all_stats', 'member'),
		inet_server_addr() IS NOT NULL AND NOT inet_server_addr() <<= '127.0.0.0/8' AND inet_server_addr() <> '::1',
		coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false), clock_timestamp(),
		(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
		current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
		pg_size_pretty(pg_database_size(current_database()))`

type serverStateRow struct {
	version                       string
	major                         int
	role                          string
	isSuperuser, seesAll          bool
	isRemote, isEncrypted         bool
	clock                         time.Time
	connections, connectionsLimit int
	size                          string
}

func scanServerState(r row) (s serverStateRow, err error) {
	return s, r.Scan(&s.version, &s.major, &s.role, &s.isSuperuser, &s.seesAll, &s.isRemote, &s.isEncrypted, &s.clock,
		&s.connections, &s.connectionsLimit, &s.size)
}

// findings judges the state as of now on this machine.
func (s serverStateRow) findings(now time.Time) (findings []store.Finding) {
	add := func(check string, isBad bool, found, advice string) {
		f := store.Finding{Check: check, Outcome: store.OK, Found: found}
		if isBad {
			f.Outcome, f.Advice = store.Warning, advice
		}
		findings = append(findings, f)
	}
	add("server", s.major < oldestVersion || s.major > newestVersion, "PostgreSQL "+s.version,
		fmt.Sprintf("perksd was tested with PostgreSQL %d to %d", oldestVersion, newestVersion))
	role := s.role
	if s.isSuperuser {
		role += " is a superuser, whose rights perksd does not need"
	}
	add("role", s.isSuperuser, role, "use a role that owns the database alone")
	if !s.seesAll {
		findings = append(findings, store.Finding{Check: "role's view", Outcome: store.NotChecked,
			Found:  s.role + " does not see the sessions and standbys of others",
			Advice: "GRANT pg_read_all_stats TO " + s.role})
	}
	encryption := "the connection stays on this machine"
	switch {
	case s.isEncrypted:
		encryption = "the connection is encrypted"
	case s.isRemote:
		encryption = "the connection is not encrypted"
	}
	add("encryption", s.isRemote && !s.isEncrypted, encryption,
		"add sslmode=verify-full to the address of the database")
	difference := s.clock.Sub(now).Abs()
	add("clock", difference > maxClockDifference,
		fmt.Sprintf("the server's differs by %s from this machine's", difference.Round(100*time.Millisecond)),
		"synchronise both with NTP: times in the log and in redemptions are this machine's")
	add("connections", s.connections*5 > s.connectionsLimit*4,
		fmt.Sprintf("%d of %d are in use", s.connections, s.connectionsLimit),
		"raise max_connections, lower pool_max_conns in the address, or use a pooler")
	add("size", false, s.size, "")
	return findings
}

// scanFinding takes rows of check, whether it is bad, what was found, and advice.
func scanFinding(r row) (f store.Finding, err error) {
	var isBad bool
	f.Outcome = store.OK
	if err = r.Scan(&f.Check, &isBad, &f.Found, &f.Advice); isBad {
		f.Outcome = store.Warning
	} else {
		f.Advice = ""
	}
	return f, err
}

var noStandbys = store.Finding{Check: "standbys", Outcome: store.OK,
	Found: "none is connected, or the role may not see any"}

var standbyFindings = fmt.Sprintf(`
	SELECT 'standby ' || application_name, state <> 'streaming' OR coalesce(replay_lag > interval '%d seconds', false),
		concat(state, ', ', sync_state, ', behind by ',
			coalesce(replay_lag, interval '0')::interval(0)),
		'look at the log of the standby, and at the network between'
	FROM pg_stat_replication WHERE state IS NOT NULL ORDER BY application_name`, int(maxBehind.Seconds()))

var slotFindings = fmt.Sprintf(`
	SELECT 'slot ' || slot_name, NOT active OR coalesce(kept > %d, false),
		concat(CASE WHEN NOT active THEN 'not used, ' END, 'holds back ', pg_size_pretty(kept), ' of WAL'),
		concat('find out who should read it; if nobody does: SELECT pg_drop_replication_slot(',
			quote_literal(slot_name), ')')
	FROM (SELECT slot_name, active, pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
		ELSE pg_current_wal_lsn() END, restart_lsn)::bigint AS kept FROM pg_replication_slots) AS s ORDER BY slot_name`,
	int64(maxKeptLog))

var noArchive = store.Finding{Check: "last backup", Outcome: store.NotChecked,
	Found:  "PostgreSQL archives no WAL, and perksd does not know of dumps",
	Advice: "'perksd backup FILE' prints how to make one; docs/postgresql.md has recovery to any point in time"}

var archiveFindings = strings.TrimSpace(`
	SELECT 'WAL archive', coalesce(last_failed_time > last_archived_time, last_archived_time IS NULL),
		concat('the last file was archived: ', coalesce(last_archived_time::timestamptz(0)::text, 'never'),
			CASE WHEN last_failed_time > last_archived_time OR last_archived_time IS NULL THEN
				', and archiving has failed since: ' || coalesce(last_failed_wal, '-') END),
		'look at the log of PostgreSQL for archive_command: its disk fills until that works'
	FROM pg_stat_archiver WHERE current_setting('archive_mode') <> 'off'`)
