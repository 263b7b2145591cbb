/** The process of a gateway: `import 'agentmesh/gateway'` is the whole main module of the service. */
import '@agentmesh/gateway/main';
