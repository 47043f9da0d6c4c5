package remote

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"time"
)

// Database opens a database on a backend. Each statement, and the begin and the end of
// each transaction, take one round trip with the delay.
func (b *Backend) Database(delay time.Duration) *sql.DB {
	return sql.OpenDB(&connector{b, delay})
}

type connector struct {
	backend *Backend
	delay   time.Duration
}

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	return &session{c.backend.Dial(), c.delay}, nil
}

func (c *connector) Driver() driver.Driver { return nil }

type session struct {
	link  *Link
	delay time.Duration
}

func (s *session) trip() error { return s.link.Ask(s.delay) }

func (s *session) Prepare(string) (driver.Stmt, error) { return &statement{s}, nil }
func (s *session) Close() error                        { return s.link.Close() }
func (s *session) Begin() (driver.Tx, error)           { return &transaction{s}, s.trip() }

type transaction struct{ *session }

func (t *transaction) Commit() error   { return t.trip() }
func (t *transaction) Rollback() error { return t.trip() }

type statement struct{ *session }

func (s *statement) Close() error  { return nil }
func (s *statement) NumInput() int { return -1 }
func (s *statement) Exec([]driver.Value) (driver.Result, error) {
	return driver.RowsAffected(1), s.trip()
}

func (s *statement) Query([]driver.Value) (driver.Rows, error) { return new(rows), s.trip() }

// rows is one row with a number.
type rows struct{ read bool }

func (r *rows) Columns() []string { return []string{"n"} }
func (r *rows) Close() error      { return nil }
func (r *rows) Next(row []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read, row[0] = true, int64(1)
	return nil
}
