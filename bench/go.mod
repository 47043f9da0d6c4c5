module github.com/sluice-go/sluice/bench

go 1.26

require github.com/sluice-go/sluice v0.0.0

replace github.com/sluice-go/sluice => ../
