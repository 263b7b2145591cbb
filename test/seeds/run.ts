// Runs the programs of documents on agentmesh: node test/seeds/run.ts <folder with the documents>
import { runDocuments } from './run-documents.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node test/seeds/run.ts <folder with the documents>');
  process.exitCode = 2;
} else {
  const { runs } = await runDocuments(folder, { log: console.log });
  process.exitCode = runs.length > 0 && runs.every(({ problems }) => problems.length === 0) ? 0 : 1;
}
