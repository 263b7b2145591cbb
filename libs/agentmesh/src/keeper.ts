/** The process of a keeper: `import 'agentmesh/keeper'` is the whole main module of the service. */
import '@agentmesh/keeper/main';
