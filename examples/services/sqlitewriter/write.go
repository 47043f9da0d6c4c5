package main

import "database/sql"

// write stores a batch in one transaction: all of its rows, or none.
func write(db *sql.DB, rows []row) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	insert, err := tx.Prepare("INSERT INTO lines (file, number, text) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, r := range rows {
		if _, err := insert.Exec(r.file, r.number, r.text); err != nil {
			return err
		}
	}
	return tx.Commit()
}
