// Package boundary tests which folder may import which packages. It consists of
// tests only.
//
// Its table has a row for each folder with Go files, in every module, and a reason
// for each import. A new import needs a reason. A folder without a row fails the
// test, and so does a permission that is not used. rooms_test.go has the table,
// rules_test.go the rules.
package boundary
