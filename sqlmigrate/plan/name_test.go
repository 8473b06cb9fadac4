package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gormflake/gormflake/sqlmigrate/plan"
)

// ParseTable and ParseColumn split a name at the dots outside double quotes, and refuse a
// name with an empty part, an open quote, or text behind a quote.
func TestNames(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		table, column []string // nil if the name is refused
	}{
		{"orders", []string{"", "orders"}, nil},
		{"shop.orders", []string{"shop", "orders"}, []string{"", "shop", "orders"}},
		{"shop.orders.id", nil, []string{"shop", "orders", "id"}},
		{"a.b.c.d", nil, nil},
		{`"my.table"`, []string{"", "my.table"}, nil},
		{`"my.table".id`, []string{"my.table", "id"}, []string{"", "my.table", "id"}},
		{`"say ""hi"""`, []string{"", `say "hi"`}, nil},
		{`od"d name`, []string{"", `od"d name`}, nil},
		{"Ünï cödé", []string{"", "Ünï cödé"}, nil},
		{"", nil, nil},
		{".", nil, nil},
		{"shop.", nil, nil},
		{".orders", nil, nil},
		{"a..b", nil, nil},
		{`""`, nil, nil},
		{`"open`, nil, nil},
		{`"a"b`, nil, nil},
		{`"a"bc`, nil, nil},
		{`a."b`, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			table, err := plan.ParseTable(test.name)
			checkName(t, []string{table.Schema, table.Name}, err, test.name, test.table, "is not the name of a table: want table or schema.table")
			table, column, err := plan.ParseColumn(test.name)
			checkName(t, []string{table.Schema, table.Name, column}, err, test.name, test.column, "is not the name of a column: want table.column or schema.table.column")
		})
	}
}

// checkName fails the test unless got is want or, if want is nil, err contains refusal.
func checkName(t *testing.T, got []string, err error, name string, want []string, refusal string) {
	t.Helper()
	if want == nil {
		if err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("error %v, want it to say %q", err, refusal)
		}
	} else if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s is read as %q, %v, want %q", name, got, err, want)
	}
}
