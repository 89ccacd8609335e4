package shell
func (j *judge) powershell(e *env, text string, in set) bool { return false }
func (j *judge) cmd(e *env, text string, in set) bool { return false }
func (j *judge) windowsProgram(c command) {}
func (j *judge) oldShell(c command) set { return unknown }
func (j *judge) newShell(c command) set { return unknown }
