import { chainScripts } from '../../scripts/chain-scripts.ts';
import { commitScript } from './commit-script.ts';
import { takeScript } from './take-script.ts';

/** Takes a session, and commits the first event of the invocation that has it. */
export const takeAndCommitScript = chainScripts(takeScript, commitScript, "reply[1] == 'held'");
