// Package boundary tests who may import what. It has no code of its own and is
// imported by nobody.
//
// Its table has a row for each folder of the repository that holds Go files, of
// every module, and for each import a reason. To import something new is to
// write down why; a folder without a row fails, and so does a permission that
// nobody uses. See rooms_test.go for the table, rules_test.go for the rules.
package boundary
