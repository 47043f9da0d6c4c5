// Package docs contains the guides for users of sluice and the decision records for
// its maintainers. It has no code of its own.
//
// Its tests check the documents of the whole repository: the commands in them exist,
// their Go code is the body of an example, their links resolve, and the prose of the
// guides has no figures.
package docs
