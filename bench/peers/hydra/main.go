// Ory Hydra's own command, from the released module that go.mod pins.
//
// `go install github.com/ory/hydra/v2@v2.3.0` refuses, because the module's go.mod replaces one of its dependencies;
// go.mod here says the same replacement.
package main

import "github.com/ory/hydra/v2/cmd"

func main() { cmd.Execute() }
