package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/gormflake/gormflake/snowflake"
	"github.com/gormflake/gormflake/types"
)

// demonstrate does the main job once, shows what came of it, and compares.
func demonstrate(ctx context.Context, s *shop, cfg config, stdout io.Writer) error {
	out := &report{w: stdout}
	db := s.db.WithContext(ctx)

	if err := showDatabase(out, db, cfg); err != nil {
		return err
	}
	orders, err := showWriting(out, db, cfg.size)
	if err != nil {
		return err
	}
	if err := showReading(out, db, orders); err != nil {
		return err
	}
	showParts(out, s.gen.Layout(), orders[len(orders)-1].ID)
	if cfg.rounds > 0 {
		if err := showComparison(out, waysOf(db, cfg.size), cfg.rounds); err != nil {
			return err
		}
	}
	return out.err
}

func showDatabase(out *report, db *gorm.DB, cfg config) error {
	product, err := productOf(db)
	if err != nil {
		return err
	}
	where := "Tables orders_example_… are created where missing, and stay with their rows."
	if cfg.dsn == "" {
		where = "In a temporary file, removed at the end."
	}
	out.printf("%s\n%s\n", product, where)
	out.printf("The worker number of the keys is leased, from the same database.\n")
	return nil
}

func productOf(db *gorm.DB) (string, error) {
	name, query := "SQLite", "SELECT sqlite_version()"
	switch db.Name() {
	case "mysql":
		name, query = "MySQL, or MariaDB,", "SELECT version()"
	case "postgres":
		name, query = "PostgreSQL", "SHOW server_version"
	}
	var version string
	err := db.Raw(query).Scan(&version).Error
	version, _, _ = strings.Cut(version, " ") // PostgreSQL's goes on with that of its package
	return name + " " + version, err
}

func showWriting(out *report, db *gorm.DB, s size) ([]Order, error) {
	out.printf("\nWriting %s orders with %d lines each, in one transaction … ", grouped(s.orders), s.lines)
	orders := sampleOrders(s)
	start := time.Now()
	if err := insertBatches(db, orders); err != nil {
		out.printf("\n")
		return nil, err
	}
	out.printf("%s\n", millis(time.Since(start)))
	return orders, nil
}

// showReading reads a few of the orders back from the database.
func showReading(out *report, db *gorm.DB, orders []Order) error {
	const few = 3
	var ids []types.ID
	for _, o := range orders[:min(few, len(orders))] {
		ids = append(ids, o.ID)
	}
	var stored []Order
	if err := db.Preload("Lines", byID).Order("id").Find(&stored, ids).Error; err != nil {
		return err
	}
	out.printf("\nRead back as JSON, where keys are strings:\n")
	for _, o := range stored {
		lines := o.Lines
		o.Lines = nil
		out.json("  ", o)
		out.json("    ", lines[0])
	}
	if more := len(stored[0].Lines) - 1; more > 0 {
		out.printf("    and %s more for each\n", plural(more, "line"))
	}
	return nil
}

func byID(db *gorm.DB) *gorm.DB { return db.Order("id") }

// showParts takes an ID apart, and shows why its JSON is a string.
func showParts(out *report, layout snowflake.Layout, id types.ID) {
	parts := layout.Decompose(id)
	out.printf("\nOne ID taken apart: %s\n", id)
	out.printf("  time        %s\n", parts.Time.Format("2006-01-02 15:04:05.000 MST"))
	out.printf("  datacenter  %d\n", parts.Datacenter)
	out.printf("  worker      %d\n", parts.Worker)
	out.printf("  sequence    %d\n", parts.Sequence)
	out.printf("  As a number, JavaScript would read it as %s.\n", asJavaScript(id))
}

// asJavaScript writes the number that JavaScript would have in place of id.
func asJavaScript(id types.ID) string {
	return strconv.FormatFloat(float64(id), 'f', -1, 64)
}

func showComparison(out *report, ways []way, rounds int) error {
	out.printf("\nHow long each way to write them takes, committed and then removed:\n")
	for _, w := range ways {
		out.printf("  %-11s %s\n", w.name, w.about)
	}
	out.printf("No way pays for foreign key constraints here: the tables have none.\n")
	out.printf("\n  %-8s", "round")
	for _, w := range ways {
		out.printf("%14s", w.name)
	}
	medians, err := compare(ways, rounds, func(round, way int, took time.Duration) {
		if way == 0 {
			out.printf("\n  %-8d", round+1)
		}
		out.printf("%14s", millis(took))
	})
	out.printf("\n")
	if err != nil {
		return err
	}
	showMedians(out, ways, medians)
	return nil
}

func showMedians(out *report, ways []way, medians []time.Duration) {
	out.printf("  %-8s", "median")
	for _, m := range medians {
		out.printf("%14s", millis(m))
	}
	out.printf("\n\n")
	for i := 1; i < len(ways); i++ {
		out.printf("%s: %.1f times as fast as %s\n",
			ways[i].name, medians[i-1].Seconds()/medians[i].Seconds(), ways[i-1].name)
	}
}

// report prints, and remembers the first error of doing so.
type report struct {
	w   io.Writer
	err error
}

func (r *report) printf(format string, args ...any) {
	if r.err == nil {
		_, r.err = fmt.Fprintf(r.w, format, args...)
	}
}

func (r *report) json(indent string, value any) {
	text, err := json.Marshal(value)
	if err != nil && r.err == nil {
		r.err = err
	}
	r.printf("%s%s\n", indent, text)
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// grouped writes a number that is not negative with a comma at each thousand.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
