package mysql_test

import (
	"strings"
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/sqlmigrate/internal/test/migratetest"
)

// mysqlRentals are statements that create routines like those of the Sakila example
// database, and a few more.
var mysqlRentals = []string{
	"CREATE TABLE customer (customer_id smallint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, store_id tinyint NOT NULL, active bool)",
	"CREATE TABLE inventory (inventory_id mediumint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, film_id int)",
	"CREATE TABLE rental (rental_id int NOT NULL AUTO_INCREMENT PRIMARY KEY, return_date datetime, amount int," +
		" inventory_id mediumint unsigned NOT NULL, customer_id smallint unsigned NOT NULL," +
		" CONSTRAINT fk_i FOREIGN KEY (inventory_id) REFERENCES inventory (inventory_id), CONSTRAINT fk_c FOREIGN KEY (customer_id) REFERENCES customer (customer_id))",
	"CREATE TABLE other (id int PRIMARY KEY, n int)",
	`CREATE FUNCTION inventory_in_stock(p_inventory_id INT) RETURNS BOOLEAN READS SQL DATA BEGIN
		DECLARE v_rentals INT; DECLARE v_out INT; -- not rental_id
		SELECT COUNT(*) INTO v_rentals FROM rental WHERE inventory_id = p_inventory_id;
		IF v_rentals = 0 THEN RETURN TRUE; END IF;
		SELECT COUNT(rental_id) INTO v_out FROM inventory LEFT JOIN rental USING(inventory_id)
		WHERE inventory.inventory_id = p_inventory_id AND rental.return_date IS NULL;
		IF v_out > 0 THEN RETURN FALSE; ELSE RETURN TRUE; END IF; END`,
	`CREATE FUNCTION inventory_held_by_customer(p INT) RETURNS INT READS SQL DATA BEGIN
		DECLARE v INT; DECLARE EXIT HANDLER FOR NOT FOUND RETURN NULL;
		SELECT customer_id INTO v FROM rental WHERE return_date IS NULL AND inventory_id = p; RETURN v; END`,
	`CREATE PROCEDURE rewards(IN min_monthly TINYINT UNSIGNED, OUT count_rewardees INT) READS SQL DATA BEGIN
		CREATE TEMPORARY TABLE tmp (customer_id SMALLINT UNSIGNED NOT NULL PRIMARY KEY);
		INSERT INTO tmp SELECT r.customer_id FROM rental r WHERE amount > min_monthly GROUP BY customer_id HAVING COUNT(*) > min_monthly;
		SELECT COUNT(*) INTO count_rewardees FROM tmp; END`,
	"CREATE PROCEDURE rent(a INT, b INT, c INT, d BIGINT) INSERT INTO rental (inventory_id, amount, customer_id) VALUES (a, b, c)",
	`CREATE PROCEDURE walk() BEGIN DECLARE i, n INT DEFAULT 0; DECLARE q INT DEFAULT 1;
		DECLARE cur CURSOR FOR SELECT amount, rental_id FROM rental; OPEN cur; FETCH cur INTO n, i; SET q = q + n; CLOSE cur; END`,
	"CREATE PROCEDURE wide(p_rental_id BIGINT) SELECT 'DECLARE rental_id INT;' FROM rental WHERE rental_id = p_rental_id /* DECLARE x INT; SET x = rental_id */",
	"CREATE PROCEDURE unrelated(p_id INT, p_n INT) UPDATE other SET n = p_n WHERE id = p_id",
	"CREATE TRIGGER narrow AFTER INSERT ON other FOR EACH ROW BEGIN DECLARE held MEDIUMINT; DECLARE paid INT; SELECT MAX(rental_id), 1 INTO held, paid FROM rental; END",
	"CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY DISABLE DO BEGIN DECLARE last INT; SELECT MAX(rental_id) INTO last FROM rental; END",
}

// A routine fails if it copies a Snowflake ID into a narrow variable. Therefore the notes
// of a plan name each routine that mentions a moved key and has narrow variables, with these
// variables, and no other routine.
func TestMySQLNotesRoutines(t *testing.T) {
	t.Parallel()
	migratetest.EachMySQL(t, func(t *testing.T, on testdb.Target) {
		db := migratetest.MySQLOpen(t, on, mysqlRentals...)
		want := []string{
			"Function inventory_in_stock has p_inventory_id int(11), v_out int, v_rentals int, which",
			"Function inventory_held_by_customer has a result of int(11), p int(11), v int, which",
			"Procedure rewards has count_rewardees int(11), customer_id smallint, min_monthly tinyint(3) unsigned, which",
			"Procedure rent has a int(11), b int(11), c int(11), which",
			"Procedure walk has i int, n int, q int, which",
			"Trigger narrow has held mediumint, paid int, which",
			"Event nightly has last int, which",
		}
		var got []string
		for _, note := range migratetest.MySQLInspect(t, db, "customer", "inventory", "rental").Notes {
			if strings.Contains(note, "1264") { // the error of a value that is out of range
				got = append(got, note)
			}
		}
		if !mysqlMariaDB(t, db) {
			for i := range want { // MySQL shows no display widths
				want[i] = strings.NewReplacer("(11)", "", "(3)", "").Replace(want[i])
			}
		}
		for _, w := range want {
			if !strings.Contains(strings.Join(got, "\n"), w) {
				t.Errorf("no note says %q", w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d notes, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
		}
	})
}
