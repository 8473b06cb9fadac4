package onlinetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/internal/test/stall"
)

// A load is a set of programs that read and write until the load ends. Each program has
// its own connection, and none of its statements may fail.
type load struct {
	stop     chan struct{}
	running  sync.WaitGroup
	programs []*program
}

// A program calls do again and again on its connection, with a pause after each call,
// until the load ends or do returns an error.
type program struct {
	name  string
	do    func(context.Context, *sql.Conn) error
	pause time.Duration

	times   int           // the number of calls
	longest time.Duration // the longest call, without times in which the machine did not run the process
	err     error
}

// startLoad starts the programs and returns after each of them has succeeded once.
func startLoad(t *testing.T, db *gorm.DB, programs ...*program) *load {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	l := &load{stop: make(chan struct{}), programs: programs}
	for _, p := range programs {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := p.do(t.Context(), conn); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		l.running.Go(func() {
			defer conn.Close()
			p.run(t.Context(), conn, l.stop)
		})
	}
	return l
}

// run repeats do until stop is closed or do returns an error, which it keeps in p.err.
func (p *program) run(ctx context.Context, conn *sql.Conn, stop <-chan struct{}) {
	for p.err == nil {
		begun := time.Now()
		p.err = p.do(ctx, conn)
		p.longest, p.times = max(p.longest, stall.Took(begun)), p.times+1
		select {
		case <-stop:
			return
		case <-time.After(p.pause):
		}
	}
}

// end stops the programs and fails the test if a program has failed.
func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.running.Wait()
	for _, p := range l.programs {
		if p.err != nil {
			t.Errorf("%s: %v", p.name, p.err)
		}
		t.Logf("%s: %d times, the longest took %v", p.name, p.times, p.longest.Round(time.Millisecond))
	}
}

// shopWriter returns a program that changes orders of [pgShop]. In the same transaction
// it makes the same change in table mirror, with which pgCheckRows compares the orders.
// Each of the two writers has the orders whose parity in table mirror is its own, so that
// they do not wait for each other.
func shopWriter(parity, customers int) *program {
	do := func(ctx context.Context, conn *sql.Conn) error {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit, it says so
		if err := shopWrite(ctx, tx, parity, 1+rand.IntN(customers)); err != nil {
			return err
		}
		return tx.Commit()
	}
	return &program{name: fmt.Sprintf("writer %d", parity), do: do, pause: time.Millisecond}
}

// shopWrite changes or deletes a random order of the parity, or, in one of four cases,
// leaves it as it is. Then it inserts an order of the customer, and a line of the newest
// order of the parity.
func shopWrite(ctx context.Context, tx *sql.Tx, parity, customer int) error {
	var order int64
	err := tx.QueryRowContext(ctx, `SELECT id FROM mirror WHERE parity = $1::integer ORDER BY random() LIMIT 1`, parity).Scan(&order)
	if err != nil {
		return err
	}
	var statements []string
	switch rand.IntN(4) {
	case 0:
		statements = []string{
			fmt.Sprintf(`UPDATE "Orders" SET customer_id = %d WHERE id = %d`, customer, order),
			fmt.Sprintf(`UPDATE mirror SET customer_id = %d WHERE id = %d`, customer, order),
		}
	case 1:
		statements = []string{
			fmt.Sprintf(`DELETE FROM "Orders" WHERE id = %d`, order),
			fmt.Sprintf(`DELETE FROM mirror WHERE id = %d`, order),
		}
	case 2: // mirror does not have the notes
		statements = []string{fmt.Sprintf(`UPDATE "Orders" SET note = note || '.' WHERE id = %d`, order)}
	}
	statements = append(statements,
		fmt.Sprintf(`WITH o AS (INSERT INTO "Orders" (customer_id, note) VALUES (%d, 'new') RETURNING id, customer_id)
			INSERT INTO mirror SELECT id, customer_id, %d FROM o`, customer, parity),
		fmt.Sprintf(`INSERT INTO lines (order_id, number) SELECT max(id), %d FROM mirror WHERE parity = %d`, 1+rand.IntN(9), parity),
	)
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// shopReader returns a program that joins the tables by the keys that are moved, for a
// random one of the customers.
func shopReader(customers int) *program {
	return &program{name: "reader", pause: time.Millisecond, do: func(ctx context.Context, conn *sql.Conn) error {
		var n int
		return conn.QueryRowContext(ctx, `SELECT count(*) FROM customers c JOIN "Orders" o ON o.customer_id = c.id
			JOIN lines l ON l.order_id = o.id WHERE c.id = $1::integer`, 1+rand.IntN(customers)).Scan(&n)
	}}
}

// shopCount returns a function that counts the rows of a table.
func shopCount(table string) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, conn *sql.Conn) error {
		var n int
		return conn.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n)
	}
}

// checkQueries returns a function that executes queries and reads all their rows. It
// passes the error of each query, also nil, to judge, which returns nil for expected
// errors.
func checkQueries(judge func(error) error, queries ...string) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, conn *sql.Conn) error {
		for _, query := range queries {
			rows, err := conn.QueryContext(ctx, query)
			if err == nil {
				for rows.Next() {
				}
				err = errors.Join(rows.Err(), rows.Close())
			}
			if err := judge(err); err != nil {
				return err
			}
		}
		return nil
	}
}
