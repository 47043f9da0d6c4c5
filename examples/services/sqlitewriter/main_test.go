package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines makes a file of n numbered lines.
func lines(t *testing.T, n int) (name string) {
	t.Helper()
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "text %d\n", i+1)
	}
	name = filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(name, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// count returns the number of rows of a query.
func count(t *testing.T, db, query string) (n int) {
	t.Helper()
	opened, err := sql.Open("sqlite", db)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if err := opened.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// All rows are there at the end, each once and unchanged.
func TestAll(t *testing.T) {
	db := filepath.Join(t.TempDir(), "lines.db")
	stored, err := run(t.Context(), db, []string{lines(t, 3000), lines(t, 1), lines(t, 0), lines(t, 1234)})
	if stored != 4235 || err != nil {
		t.Fatalf("stored %d, %v", stored, err)
	}
	if n := count(t, db, "SELECT count(*) FROM (SELECT DISTINCT * FROM lines WHERE text = 'text ' || number)"); n != 4235 {
		t.Errorf("%d rows are right", n)
	}
}

// A missing file is reported, and the others are stored.
func TestMissingFile(t *testing.T) {
	db := filepath.Join(t.TempDir(), "lines.db")
	stored, err := run(t.Context(), db, []string{lines(t, 7), "missing"})
	if stored != 7 || !errors.Is(err, fs.ErrNotExist) || count(t, db, "SELECT count(*) FROM lines") != 7 {
		t.Errorf("stored %d, %v", stored, err)
	}
}

// After a transaction that failed, the rows of those before it are there, and the readers
// end.
func TestTransactionFails(t *testing.T) {
	db := filepath.Join(t.TempDir(), "lines.db")
	opened, err := sql.Open("sqlite", db)
	if err != nil {
		t.Fatal(err)
	}
	_, err = opened.Exec("CREATE TABLE lines (file TEXT, number INTEGER CHECK (number < 2500), text TEXT)")
	if err := errors.Join(err, opened.Close()); err != nil {
		t.Fatal(err)
	}
	stored, err := run(t.Context(), db, []string{lines(t, 50_000)})
	if err == nil || !strings.Contains(err.Error(), "CHECK") {
		t.Errorf("error %v, want a violation of CHECK", err)
	}
	if n := count(t, db, "SELECT count(*) FROM lines"); n != stored || n >= 2500 {
		t.Errorf("%d rows, %d are said to be stored", n, stored)
	}
}

// After an interrupt what was read is stored.
func TestInterrupt(t *testing.T) {
	db := filepath.Join(t.TempDir(), "lines.db")
	ctx, interrupt := context.WithCancel(t.Context())
	go interrupt()
	stored, err := run(ctx, db, []string{lines(t, 50_000)})
	if n := count(t, db, "SELECT count(*) FROM lines"); n != stored || err != nil {
		t.Errorf("%d rows, %d are said to be stored, %v", n, stored, err)
	}
}
