package fill_test

import (
	"testing"

	"github.com/gormflake/gormflake/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }
