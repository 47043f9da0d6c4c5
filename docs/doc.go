// Package docs holds what is written about sluice for those who change it. Its
// tests keep the documents of the whole repository true: that the commands in
// them exist, that their Go code is an example's, that their links lead
// somewhere. It has no code of its own.
package docs
