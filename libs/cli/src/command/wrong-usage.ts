import { MeshError } from '@agentmesh/protocol';

/** The error for a command or an option that does not exist, or for wrong arguments. The exit code is 2. */
export class WrongUsage extends MeshError {
  /** @param help the usage of the command, or the place where it is found */
  constructor(problem: string, help = 'agentmesh --help lists all commands') {
    super('invalid_argument', `${problem}\n${help}`);
  }
}
