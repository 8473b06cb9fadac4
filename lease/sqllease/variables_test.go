package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/lease"
)

// A variable is a setting of a session, with unusual values to try.
type variable struct {
	name   string
	values []string // as SQL
}

// unusualTexts are values of settings that are texts, of which a server lists no values.
var unusualTexts = map[string][]string{
	"sql_mode": {
		"''", "'ANSI'", "'TRADITIONAL'", "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE'",
		"'PAD_CHAR_TO_FULL_LENGTH'", "'NO_UNSIGNED_SUBTRACTION,REAL_AS_FLOAT,ONLY_FULL_GROUP_BY,NO_ZERO_DATE'", "'ORACLE'", "'EMPTY_STRING_IS_NULL'", "'MSSQL'",
	},
	"transaction_isolation": {"'READ-UNCOMMITTED'", "'SERIALIZABLE'"}, "tx_isolation": {"'READ-UNCOMMITTED'", "'SERIALIZABLE'"},
	"character_set_client": {"latin1", "gbk", "big5"}, "character_set_connection": {"latin1", "ucs2", "utf32"}, "character_set_results": {"NULL", "latin1", "ucs2"},
	"collation_connection": {"latin1_bin", "utf8mb4_bin", "utf8mb4_turkish_ci"}, "time_zone": {"'+14:00'", "'-12:59'"}, "timestamp": {"1"},
	"storage_engine": {"MyISAM"}, "default_storage_engine": {"MyISAM"}, "lc_time_names": {"'zh_CN'"}, "lc_messages": {"'de_DE'"},
	"optimizer_switch": {"'index_merge=off,materialization=off,semijoin=off,derived_merge=off'"},

	"search_path": {"pg_temp", "information_schema", "pg_catalog"}, "DateStyle": {"'SQL, DMY'", "'German'"}, "TimeZone": {"'Asia/Kathmandu'"},
	"client_encoding": {"'LATIN1'", "'SQL_ASCII'", "'SJIS'"}, "lc_numeric": {"'C'"}, "default_table_access_method": {"'heap'"},
	"default_tablespace": {"''"}, "role": {"none"}, "session_replication_role": {"replica", "local"},
}

// variablesOf returns the settings that a session of this server can have, with values of
// their range, of their list, or of unusualTexts.
func variablesOf(t *testing.T, db *gorm.DB) (all []variable) {
	t.Helper()
	query := "SELECT name, vartype, COALESCE(min_val, ''), COALESCE(max_val, ''), COALESCE(array_to_string(enumvals, ','), '') FROM pg_settings WHERE context IN ('user', 'superuser')"
	if db.Dialector.Name() == "mysql" {
		query = "SHOW SESSION VARIABLES"
	}
	rows, err := db.Raw(query).Rows()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v variable
		if db.Dialector.Name() == "mysql" {
			var value string
			if err := rows.Scan(&v.name, &value); err != nil {
				t.Fatal(err)
			}
			v.values = unusualOfMySQL(value)
		} else {
			var kind, low, high, list string
			if err := rows.Scan(&v.name, &kind, &low, &high, &list); err != nil {
				t.Fatal(err)
			}
			v.values = unusualOfPostgres(kind, low, high, list)
		}
		v.values = append(v.values, unusualTexts[v.name]...)
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// unusualOfMySQL returns values for a variable that has this value. SET clamps numbers to
// the variable's range.
func unusualOfMySQL(value string) []string {
	switch {
	case value == "ON" || value == "OFF":
		return []string{"ON", "OFF"}
	case value != "" && strings.Trim(value, "0123456789.") == "":
		return []string{"0", "1", "4294967295"}
	}
	return nil
}

// unusualOfPostgres returns values for a setting of this kind and range.
func unusualOfPostgres(kind, low, high, list string) []string {
	switch kind {
	case "bool":
		return []string{"on", "off"}
	case "enum":
		return strings.Split("'"+strings.ReplaceAll(list, ",", "','")+"'", ",")
	case "integer", "real":
		return []string{"'" + low + "'", "'1'", "'" + high + "'"}
	}
	return nil
}

// breaksClients are settings of PostgreSQL and MySQL that break any client, such as those
// that stop the server's process or make up a time.
var breaksClients = []string{"ignore_checksum_failure", "zero_damaged_pages", "debug", "debug_sync", "debug_dbug", "gtid_next", "gtid_seq_no", "pseudo_thread_id", "log_statement"}

// explained are the texts by which the server's error explains a setting without its name.
var explained = map[string]string{
	"collation_connection": "Illegal mix of collations", "character_set_connection": "Illegal mix of collations", "character_set_results": `\x00`,
	"sort_buffer_size": "increasing server sort buffer size", "tmp_disk_table_size": "'(temporary)' is full",
	"idle_session_timeout": "idle-session timeout", "statement_timeout": "statement timeout",
	"max_execution_time": "maximum statement execution time exceeded", "lock_timeout": "lock timeout",
	"transaction_timeout": "transaction timeout", "idle_in_transaction_session_timeout": "idle-in-transaction timeout",
	"search_path": "want the table with its schema, by WithTable",
}

// TestEverySessionVariable sets each session variable to unusual values, each on a new
// connection. A new store must then work, or return an error that names or explains the
// variable.
func TestEverySessionVariable(t *testing.T) {
	t.Parallel()
	for _, target := range []testdb.Target{testdb.MariaDB, testdb.MySQL, testdb.Postgres} {
		t.Run(string(target), func(t *testing.T) {
			t.Parallel()
			db := testdb.Open(t, target)
			sound := newStore(db)
			bound := int64(1)
			swap(t, sound, 1, lease.Record{}, lease.Record{Bound: bound, Owner: "a"}, true)
			session := proxied(t, db, new(proxy))
			pool := poolOf(t, session)
			pool.SetMaxOpenConns(1)
			tried, refused := 0, 0
			for _, v := range variablesOf(t, db) {
				if slices.Contains(breaksClients, v.name) {
					continue
				}
				for _, value := range v.values {
					pool.SetMaxIdleConns(0) // closes the connection
					pool.SetMaxIdleConns(1)
					if !set(t, pool, v.name, value) {
						continue
					}
					tried++
					from, to := lease.Record{Bound: bound, Owner: "a"}, lease.Record{Bound: bound + 1, Owner: "a"}
					err := useSession(t, newStore(session), from, to)
					switch {
					case err == nil:
						bound++
					case strings.Contains(strings.ToLower(err.Error()), strings.ToLower(v.name)), explained[v.name] != "" && strings.Contains(err.Error(), explained[v.name]):
						refused++
						t.Logf("%s = %s: %v", v.name, value, err)
					default:
						t.Errorf("%s = %s: %v, want an error that names the setting, or none", v.name, value, err)
					}
					if got := load(t, sound)[1]; got.Bound != bound {
						bound = got.Bound // written in spite of the error
					}
				}
			}
			t.Logf("%d values of settings tried, %d refused by name", tried, refused)
			if tried < 100 {
				t.Errorf("%d values tried, want hundreds", tried)
			}
		})
	}
}

// set sets the variable of the pool's only connection, and reports whether the server allows
// that.
func set(t *testing.T, pool *sql.DB, name, value string) bool {
	t.Helper()
	_, err := pool.ExecContext(t.Context(), fmt.Sprintf("SET SESSION %s = %s", name, value))
	return err == nil
}

// useSession reads the server's time, reads and replaces a record through the store, and tries
// once more from the record that was replaced, which the store must refuse.
func useSession(t *testing.T, store lease.Store, from, to lease.Record) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := store.(lease.Clock).Now(ctx)
	if err != nil {
		return err
	}
	records, err := store.Load(ctx)
	if err != nil {
		return err
	}
	if records[1] != from {
		return fmt.Errorf("reads %+v, want %+v", records[1], from)
	}
	if swapped, err := store.CompareAndSwap(ctx, 1, from, to); err != nil || !swapped {
		return errors.Join(fmt.Errorf("CompareAndSwap = %v", swapped), err)
	}
	if swapped, err := store.CompareAndSwap(ctx, 1, from, first); err != nil || swapped {
		return errors.Join(fmt.Errorf("CompareAndSwap from a replaced record = %v", swapped), err)
	}
	if records, err = store.Load(ctx); err == nil && records[1] != to {
		return fmt.Errorf("reads %+v after it has written %+v", records[1], to)
	}
	return err
}
