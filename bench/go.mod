module github.com/sluice-go/sluice/bench

go 1.26.0

require (
	github.com/eapache/channels v1.1.0
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/sluice-go/sluice v0.0.0
	github.com/smallnest/chanx v1.2.0
	golang.design/x/chann v0.1.2
	golang.org/x/sync v0.24.0
	golang.org/x/sys v0.49.0
)

require github.com/eapache/queue v1.1.0 // indirect

replace github.com/sluice-go/sluice => ../
