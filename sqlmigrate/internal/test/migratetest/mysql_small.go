package migratetest

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// MySQLSmall opens a database with a small schema whose plan contains every kind of
// statement. Tests that stop a run at each of its statements use it.
func MySQLSmall(t *testing.T, on testdb.Target) *gorm.DB {
	t.Helper()
	return MySQLOpen(t, on,
		"CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it''s \\\\ one', boss_id int, CONSTRAINT fk_boss FOREIGN KEY (boss_id) REFERENCES users (id) ON DELETE SET NULL)",
		"CREATE TABLE orders (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, a_id int, b_id int, CONSTRAINT fk_b FOREIGN KEY (b_id) REFERENCES users (id), CONSTRAINT fk_a FOREIGN KEY (a_id) REFERENCES users (id) ON DELETE CASCADE)",
		"CREATE TABLE flags (id int NOT NULL DEFAULT 7 PRIMARY KEY)",
		"INSERT INTO users VALUES (1, NULL), (2, 1)", "INSERT INTO orders VALUES (1, 1, 2), (4, 2, NULL)", "INSERT INTO flags VALUES (3)")
}

// MySQLSmallTargets returns the tables of [MySQLSmall] as the targets of Inspect.
func MySQLSmallTargets() []any { return []any{"users", "orders", "flags"} }
