#!/usr/bin/env node
// The command `agentmesh`: npm links the commands of a project's own dependencies alone, not those of @agentmesh/cli.
import '@agentmesh/cli/main';
