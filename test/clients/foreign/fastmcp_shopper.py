"""An MCP client by FastMCP that does what its test says, line by line."""

import asyncio
import json
import sys

from fastmcp import Client


async def main():
    async with Client(sys.argv[1], auth="oauth", mode=sys.argv[2]) as client:
        for line in sys.stdin:
            asked = json.loads(line)
            if asked["name"] == "tools/list":
                answer = [{"name": tool.name} for tool in await client.list_tools()]
            else:
                result = await client.call_tool(asked["name"], asked["args"], raise_on_error=False)
                answer = {"isError": result.is_error, "content": result.structured_content}
            print("RESULT " + json.dumps(answer), flush=True)


asyncio.run(main())
