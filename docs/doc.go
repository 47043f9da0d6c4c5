// Package docs contains the guides for users of sluice and the decision records for
// its maintainers. It has no code of its own.
//
// Its tests check the documents of the whole repository: links resolve, the commands in them
// exist, Go code is the body of an example that is run, measured figures have their origin, and
// installing works as it is written.
package docs
