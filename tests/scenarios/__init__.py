"""End-to-end stories, told with the commands a user would type, judged by the test web's oracle."""
