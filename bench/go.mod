module github.com/sluice-go/sluice/bench

go 1.26

require (
	github.com/eapache/channels v1.1.0
	github.com/puzpuzpuz/xsync/v4 v4.5.0
	github.com/sluice-go/sluice v0.0.0
	github.com/smallnest/chanx v1.2.0
	golang.design/x/chann v0.1.2
)

require github.com/eapache/queue v1.1.0 // indirect

replace github.com/sluice-go/sluice => ../
