package migratetest

import (
	"testing"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

// MySQLSmall is a schema whose plan has every kind of statement.
func MySQLSmall(t *testing.T, on testdb.Target) *gorm.DB {
	t.Helper()
	return MySQLOpen(t, on,
		"CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it''s \\\\ one', boss_id int, CONSTRAINT fk_boss FOREIGN KEY (boss_id) REFERENCES users (id) ON DELETE SET NULL)",
		"CREATE TABLE orders (id int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, a_id int, b_id int, CONSTRAINT fk_b FOREIGN KEY (b_id) REFERENCES users (id), CONSTRAINT fk_a FOREIGN KEY (a_id) REFERENCES users (id) ON DELETE CASCADE)",
		"CREATE TABLE flags (id int NOT NULL DEFAULT 7 PRIMARY KEY)",
		"INSERT INTO users VALUES (1, NULL), (2, 1)", "INSERT INTO orders VALUES (1, 1, 2), (4, 2, NULL)", "INSERT INTO flags VALUES (3)")
}

// MySQLSmallTargets are the tables of [MySQLSmall] to move.
func MySQLSmallTargets() []any { return []any{"users", "orders", "flags"} }
